"""A log against the simplest model of one: a list of values with a first offset."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.testing.log_bench import LogBench, read_records

VALUES = st.lists(st.binary(min_size=0, max_size=120), min_size=1, max_size=4)
PRODUCER = {"producer_id": 11, "producer_epoch": 0}


class LogMachine(RuleBasedStateMachine):
    """Any order of appends, cuts, stops and kills leaves what the model says."""

    @initialize(
        segment_bytes=st.sampled_from(["300", "700", "100000"]),
        interval=st.sampled_from(["0", "150", "4096"]),
        durability=st.sampled_from(["page-cache", "fsync"]),
    )
    def begin(self, segment_bytes: str, interval: str, durability: str) -> None:
        self.bench = LogBench()
        self.bench.create(
            internal_segment_bytes=segment_bytes,
            index_interval_bytes=interval,
            durability=durability,
            max_message_bytes="100000",
        )
        self.start = 0
        self.values: list[bytes] = []
        self.bounds: list[int] = [0]
        self.sequence = 0
        self.last_batch: tuple[list[bytes], int, int] | None = None

    @property
    def log(self):
        return self.bench.log()

    @property
    def end(self) -> int:
        return len(self.values)

    @rule(values=VALUES)
    def append(self, values: list[bytes]) -> None:
        if sum(map(len, values)) + 100 > int(self.log.config.internal_segment_bytes or 0):
            values = values[:1]
        appended = self.bench.append(self.log, values, base_sequence=self.sequence, **PRODUCER)
        assert (appended.base_offset, appended.is_duplicate) == (self.end, False)
        self.last_batch = (values, self.sequence, self.end)
        self.sequence += len(values)
        self.values += values
        self.bounds.append(self.end)

    @precondition(lambda self: self.last_batch is not None)
    @rule()
    def append_again(self) -> None:
        values, sequence, offset = self.last_batch
        appended = self.bench.append(self.log, values, base_sequence=sequence, **PRODUCER)
        assert (appended.base_offset, appended.is_duplicate) == (offset, True)

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        offset = self.start + int((self.end - self.start) * share)
        self.start = self.log.delete_records_before(offset)
        assert self.start == offset

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        kept = [bound for bound in self.bounds if bound >= self.start]
        if not kept:
            return
        end = kept[int((len(kept) - 1) * share)]
        if end == self.end:
            return
        self.log.truncate_to(end)
        del self.values[end:]
        self.bounds = [bound for bound in self.bounds if bound <= end]
        self.last_batch = None
        views = self.log.producers()
        self.sequence = views[0].last_sequence + 1 if views else 0

    @rule()
    def stop_and_start(self) -> None:
        assert self.bench.restart().is_clean

    @rule()
    def kill_and_start(self) -> None:
        self.bench.kill_and_start()

    @rule()
    def checkpoint(self) -> None:
        self.bench.write_checkpoints()

    @rule(share=st.floats(0, 1), max_bytes=st.integers(1, 3000))
    def read_somewhere(self, share: float, max_bytes: int) -> None:
        offset = self.start + int((self.end - self.start) * share)
        if offset < self.end:
            found = self.log.read(offset, max_bytes, self.end, at_least_one=True)
            assert found.first_offset == max(b for b in self.bounds if b <= offset)
            assert len(found.read()) == len(found) > 0

    @invariant()
    def log_is_the_model(self) -> None:
        if not hasattr(self, "bench"):
            return
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        assert log.high_watermark == log.last_stable_offset == self.end
        records = read_records(log)
        assert [record.offset for record in records] == list(range(self.start, self.end))
        assert [record.value for record in records] == self.values[self.start :]


LogMachine.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestLogIsTheModel = LogMachine.TestCase
