// Driver for kafkajs: one JSON request per line in, one JSON answer per line out.
// The protocol is described in clients/driver_loop.py; this driver knows the part of it that the
// smoke scenarios use. The argument is the bootstrap address.
'use strict'

const readline = require('node:readline')
const { CompressionTypes, Kafka, logLevel } = require('kafkajs')

const kafka = new Kafka({
  brokers: [process.argv[2]],
  logLevel: logLevel.WARN,
  // Standard output belongs to the protocol.
  logCreator: () => ({ log }) => process.stderr.write(`${JSON.stringify(log)}\n`),
})
const codecs = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP }
const consumers = new Map()

const toBytes = (text) => (text === null ? null : Buffer.from(text, 'base64'))
const toText = (bytes) =>
  bytes === null || bytes === undefined ? null : Buffer.from(bytes).toString('base64')

// kafkajs keeps headers as an object; a repeated name is an array of values.
function headersToObject(pairs) {
  const headers = {}
  for (const [name, value] of pairs) {
    const bytes = toBytes(value)
    headers[name] = name in headers ? [headers[name], bytes].flat() : bytes
  }
  return headers
}

const headersToPairs = (headers) =>
  Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, toText(value)]))

async function createTopic({ topic, partitions, replication_factor: replicationFactor, configs }) {
  const admin = kafka.admin()
  await admin.connect()
  try {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
    const topics = [{ topic, numPartitions: partitions, replicationFactor, configEntries }]
    await admin.createTopics({ topics, waitForLeaders: true })
    return null
  } finally {
    await admin.disconnect()
  }
}

async function produce({ topic, records, codec }) {
  const producer = kafka.producer()
  await producer.connect()
  try {
    const messages = records.map((record) => ({
      key: toBytes(record.key),
      value: toBytes(record.value),
      headers: headersToObject(record.headers),
      partition: record.partition,
      ...(record.timestamp_ms === null ? {} : { timestamp: String(record.timestamp_ms) }),
    }))
    const answers = await producer.send({ topic, messages, acks: -1, compression: codecs[codec] })
    const next = new Map(answers.map((one) => [one.partition, Number(one.baseOffset)]))
    return records.map(({ partition }) => {
      const offset = next.get(partition)
      next.set(partition, offset + 1)
      return offset
    })
  } finally {
    await producer.disconnect()
  }
}

// kafkajs cannot read without a group: assigned partitions are read by a group of their own.
async function openConsumer({ settings }) {
  const number = consumers.size + 1
  const topics = settings.topics.length ? settings.topics : settings.assign.map(([topic]) => topic)
  const consumer = kafka.consumer({
    groupId: settings.group ?? `unnamed-${process.pid}-${number}-${topics[0]}`,
    sessionTimeout: settings.session_timeout_ms,
    heartbeatInterval: settings.heartbeat_interval_ms,
    maxWaitTimeInMs: 100,
  })
  const unread = []
  const positions = new Map()
  await consumer.connect()
  await consumer.subscribe({ topics, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, partition, message }) => {
      positions.set(`${topic}/${partition}`, { topic, partition, offset: Number(message.offset) + 1 })
      unread.push({
        topic,
        partition,
        offset: Number(message.offset),
        timestamp_ms: Number(message.timestamp),
        key: toText(message.key),
        value: toText(message.value),
        headers: headersToPairs(message.headers ?? {}),
      })
    },
  })
  consumers.set(number, { consumer, unread, positions })
  return number
}

async function poll({ consumer, timeout_ms: timeoutMs }) {
  const { unread } = consumers.get(consumer)
  if (unread.length === 0) await new Promise((resolve) => setTimeout(resolve, timeoutMs))
  return unread.splice(0)
}

async function commit({ consumer: number }) {
  const { consumer, positions } = consumers.get(number)
  const offsets = [...positions.values()].map((one) => ({ ...one, offset: String(one.offset) }))
  await consumer.commitOffsets(offsets)
  return null
}

async function close({ consumer: number }) {
  await consumers.get(number).consumer.disconnect()
  return null
}

const operations = {
  create_topic: createTopic,
  produce,
  open_consumer: openConsumer,
  poll,
  commit,
  close,
}

async function answer(line) {
  const request = JSON.parse(line)
  try {
    return { result: await operations[request.op](request.arguments) }
  } catch (error) {
    process.stderr.write(`${error.stack}\n`)
    const cause = error.errors?.[0] ?? error
    const code = cause.code > 0 ? cause.code : null
    return { error: { code, name: cause.name, message: cause.message } }
  }
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(line))}\n`)
  }
  process.exit(0)
}

main()
