"""Client quotas in Kafka's own bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.coordination.metadata.record_codec import decode, encode
from headrace.coordination.metadata.records import ClientQuotaRecord, ForeignRecord, RecordType
from headrace.coordination.metadata.snapshot import snapshot_records
from headrace.coordination.metadata.state import MetadataState
from headrace.model.errors import CorruptRecord
from headrace.quotas.entities import DEFAULT, QuotaEntity

NAMES = st.one_of(st.none(), st.just(DEFAULT), st.text(max_size=20))
RECORDS = st.builds(
    ClientQuotaRecord,
    st.builds(QuotaEntity, NAMES, NAMES, NAMES),
    st.sampled_from(["producer_byte_rate", "consumer_byte_rate", "request_percentage"]),
    st.one_of(st.none(), st.floats(allow_nan=False)),
)
WRITTEN_BY_KAFKA = (
    "010e00020a636c69656e742d6964036331001370726f64756365725f627974655f7261746540900000000000000000"
)


def test_record_of_kafka_is_read_and_written_alike() -> None:
    frame = bytes.fromhex(WRITTEN_BY_KAFKA)
    record = ClientQuotaRecord(QuotaEntity(client_id="c1"), "producer_byte_rate", 1024.0)
    assert decode(frame) == record
    assert encode(record) == frame


@given(RECORDS)
def test_record_comes_back(record: ClientQuotaRecord) -> None:
    assert decode(encode(record)) == record


def test_quota_of_an_unknown_kind_of_entity_stays_as_it_is() -> None:
    frame = bytes.fromhex(WRITTEN_BY_KAFKA).replace(b"client-id", b"planet-id")
    record = decode(frame)
    assert record == ForeignRecord(RecordType.CLIENT_QUOTA, frame)
    assert encode(record) == frame


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_torn_record_is_refused(cut: int) -> None:
    with pytest.raises(CorruptRecord):
        decode(bytes.fromhex(WRITTEN_BY_KAFKA)[:-cut])


@given(st.lists(RECORDS, max_size=20))
def test_snapshot_replays_to_the_same_quotas(records: list[ClientQuotaRecord]) -> None:
    state, again = MetadataState(), MetadataState()
    for record in records:
        state.replay(record)
    for each in snapshot_records(state, 1):
        again.replay(decode(encode(each)))
    assert list(again.quotas) == list(state.quotas)
