"""The bench for storage tests: logs that survive what they should."""

from __future__ import annotations

from headrace.testing.storage_bench import StorageBench, latest_values, pairs_of, records_of


def test_a_log_is_written_read_and_found_again_after_a_kill() -> None:
    bench = StorageBench()
    log = bench.log(segment_ms=1000)
    bench.append(log, (b"a", b"1"), (b"b", b"2"))
    bench.append(log, (b"a", None), timestamp_ms=7)
    assert log.config.segment_ms == 1000
    assert pairs_of(log) == [(0, b"a", b"1"), (1, b"b", b"2"), (2, b"a", None)]
    assert records_of(log)[2].timestamp_ms == 7
    assert latest_values(pairs_of(log)) == {b"b": b"2"}
    bench.disk.kill()
    report = bench.start()
    assert not report.is_clean
    assert pairs_of(bench.get()) == [(0, b"a", b"1"), (1, b"b", b"2"), (2, b"a", None)]
