// Driver for franz-go: one JSON request per line in, one JSON answer per line out.
// The protocol is described in clients/driver_loop.py; this driver knows the part of it that the
// smoke scenarios use. The argument is the bootstrap address.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const operationTimeout = 30 * time.Second
const requestBytesMax = 16 << 20

// Bytes are base64 in JSON, which is what encoding/json does with a byte slice; nil is null.
type record struct {
	Topic       string   `json:"topic,omitempty"`
	Offset      int64    `json:"offset"`
	Partition   int32    `json:"partition"`
	Key         []byte   `json:"key"`
	Value       []byte   `json:"value"`
	Headers     []header `json:"headers"`
	TimestampMs *int64   `json:"timestamp_ms"`
}

type header struct {
	name  string
	value []byte
}

func (h header) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{h.name, h.value})
}

func (h *header) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.name, &h.value})
}

type partition struct {
	topic  string
	number int32
}

func (p *partition) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&p.topic, &p.number})
}

type settings struct {
	Group  *string     `json:"group"`
	Topics []string    `json:"topics"`
	Assign []partition `json:"assign"`
}

type arguments struct {
	Topic             string            `json:"topic"`
	Partitions        int32             `json:"partitions"`
	ReplicationFactor int16             `json:"replication_factor"`
	Configs           map[string]string `json:"configs"`
	Records           []record          `json:"records"`
	Codec             string            `json:"codec"`
	Settings          settings          `json:"settings"`
	Consumer          int               `json:"consumer"`
	TimeoutMs         int               `json:"timeout_ms"`
}

type driver struct {
	bootstrap string
	admin     *kadm.Client
	consumers []*kgo.Client
}

func main() {
	d := &driver{bootstrap: os.Args[1]}
	client, err := kgo.NewClient(kgo.SeedBrokers(d.bootstrap))
	if err != nil {
		panic(err)
	}
	d.admin = kadm.NewClient(client)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, requestBytesMax)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := out.Encode(d.answer(lines.Bytes())); err != nil {
			panic(err)
		}
	}
}

func (d *driver) answer(line []byte) map[string]any {
	var request struct {
		Op        string    `json:"op"`
		Arguments arguments `json:"arguments"`
	}
	if err := json.Unmarshal(line, &request); err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), operationTimeout)
	defer cancel()
	result, err := d.run(ctx, request.Op, &request.Arguments)
	if err != nil {
		return failed(err)
	}
	return map[string]any{"result": result}
}

func failed(err error) map[string]any {
	var code any
	name := "local"
	var broker *kerr.Error
	if errors.As(err, &broker) {
		code, name = broker.Code, broker.Message
	}
	return map[string]any{
		"error": map[string]any{"code": code, "name": name, "message": err.Error()},
	}
}

func (d *driver) run(ctx context.Context, op string, a *arguments) (any, error) {
	switch op {
	case "create_topic":
		configs := make(map[string]*string)
		for name, value := range a.Configs {
			configs[name] = &value
		}
		_, err := d.admin.CreateTopic(ctx, a.Partitions, a.ReplicationFactor, configs, a.Topic)
		return nil, err
	case "produce":
		return d.produce(ctx, a)
	case "open_consumer":
		return d.open(&a.Settings)
	case "poll":
		return d.poll(ctx, a)
	case "commit":
		return nil, d.consumers[a.Consumer].CommitUncommittedOffsets(ctx)
	case "close":
		d.consumers[a.Consumer].Close()
		return nil, nil
	}
	return nil, fmt.Errorf("unknown operation %s", op)
}

func codec(name string) kgo.CompressionCodec {
	return map[string]kgo.CompressionCodec{
		"none":   kgo.NoCompression(),
		"gzip":   kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(),
		"lz4":    kgo.Lz4Compression(),
		"zstd":   kgo.ZstdCompression(),
	}[name]
}

func (d *driver) produce(ctx context.Context, a *arguments) ([]int64, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(d.bootstrap),
		kgo.ProducerBatchCompression(codec(a.Codec)),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.AllowAutoTopicCreation(),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var outgoing []*kgo.Record
	for _, r := range a.Records {
		sent := &kgo.Record{Topic: a.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			sent.Headers = append(sent.Headers, kgo.RecordHeader{Key: h.name, Value: h.value})
		}
		if r.TimestampMs != nil {
			sent.Timestamp = time.UnixMilli(*r.TimestampMs)
		}
		outgoing = append(outgoing, sent)
	}
	if err := client.ProduceSync(ctx, outgoing...).FirstErr(); err != nil {
		return nil, err
	}
	var offsets []int64
	for _, sent := range outgoing {
		offsets = append(offsets, sent.Offset)
	}
	return offsets, nil
}

func (d *driver) open(s *settings) (int, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(d.bootstrap),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100 * time.Millisecond),
	}
	if s.Group != nil {
		options = append(options, kgo.ConsumerGroup(*s.Group), kgo.ConsumeTopics(s.Topics...),
			kgo.DisableAutoCommit())
	}
	assigned := make(map[string]map[int32]kgo.Offset)
	for _, p := range s.Assign {
		if assigned[p.topic] == nil {
			assigned[p.topic] = make(map[int32]kgo.Offset)
		}
		assigned[p.topic][p.number] = kgo.NewOffset().AtStart()
	}
	if len(assigned) > 0 {
		options = append(options, kgo.ConsumePartitions(assigned))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return 0, err
	}
	d.consumers = append(d.consumers, client)
	return len(d.consumers) - 1, nil
}

func (d *driver) poll(ctx context.Context, a *arguments) ([]record, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.TimeoutMs)*time.Millisecond)
	defer cancel()
	fetches := d.consumers[a.Consumer].PollFetches(ctx)
	for _, failure := range fetches.Errors() {
		if !errors.Is(failure.Err, context.DeadlineExceeded) {
			return nil, failure.Err
		}
	}
	found := []record{}
	fetches.EachRecord(func(r *kgo.Record) {
		stamp := r.Timestamp.UnixMilli()
		headers := []header{}
		for _, h := range r.Headers {
			headers = append(headers, header{h.Key, h.Value})
		}
		found = append(found, record{
			r.Topic, r.Offset, r.Partition, r.Key, r.Value, headers, &stamp,
		})
	})
	return found, nil
}
