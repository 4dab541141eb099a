"""The runs that the column bench decodes are what their titles say."""

from __future__ import annotations

from bench.columns import cases, records_per_second, run_of
from headrace.records.header import batches


def test_every_case_makes_batches_of_its_kind():
    for case in cases():
        data, records = run_of(case, 2 * case.batch_records)
        headers = [header for _, header in batches(data)]
        assert records == 2 * case.batch_records
        assert [header.record_count for header in headers] == [case.batch_records] * 2
        assert {header.compression for header in headers} == {case.codec}
        assert records_per_second(data, records, 1, is_compiled=False) > 0


def test_titles_tell_the_cases_apart():
    titles = [case.title for case in cases()]
    assert len(set(titles)) == len(titles)
