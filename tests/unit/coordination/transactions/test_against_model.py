"""The coordinator against ``model.py``, with restarts, and a crash at every record boundary."""

from copy import deepcopy

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from headrace.coordination.shard import CoordinatorRecord
from headrace.coordination.transactions.commands import (
    AddPartitions,
    EndTransaction,
    InitProducerId,
    ProducerIdentity,
)
from headrace.coordination.transactions.record_codec import read_transaction_key
from headrace.coordination.transactions.states import AT_REST, TransactionState
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC, TopicPartition

from .bench import START_MS, TransactionBench, stored
from .model import FRESH, Holder, Marker, Model

NAMES = st.sampled_from(["a", "b"])
TIMEOUTS_MS = st.sampled_from([1_000, 5_000])
PARTITIONS = st.frozensets(
    st.sampled_from(
        [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition(CONSUMER_OFFSETS_TOPIC, 3)]
    ),
    min_size=1,
)
LONGEST_TIMEOUT_MS = 5_000


def seen(completion):
    """A CompleteTransaction in the words of the model."""
    partitions = frozenset(completion.partitions + completion.group_partitions)
    return Marker(
        completion.transactional_id,
        completion.producer_id,
        completion.epoch,
        completion.is_commit,
        partitions,
    )


def in_words(marker):
    """The same for equal markers: a set may tell its members in any order."""
    return [str(each) for each in (marker.transactional_id, marker.producer_id, marker.epoch)] + [
        str(marker.is_commit),
        *sorted(map(str, marker.partitions)),
    ]


def raise_if_different(bench, model):
    assert bench.registry.transactions.keys() == model.holders.keys()
    for name, transaction in bench.registry.transactions.items():
        holder = model.holders[name]
        identity = ProducerIdentity(transaction.producer_id, transaction.producer_epoch)
        assert identity == holder.identity
        assert transaction.partitions == holder.partitions
        assert transaction.timeout_ms == holder.timeout_ms
        assert (transaction.state == TransactionState.ONGOING) == holder.is_open
        if holder.is_open:
            assert transaction.start_ms == holder.start_ms


class CoordinatorAgainstModel(RuleBasedStateMachine):
    producers = Bundle("producers")

    @initialize(
        target=producers,
        version=st.sampled_from([2, 2, 1]),
        epoch=st.sampled_from([32_766, 0, 32_764]),
    )
    def begin(self, version, epoch):
        """The id ``a`` is there already, possibly with few epochs left."""
        record = stored(
            transactional_id="a",
            producer_epoch=epoch,
            timeout_ms=1_000,
            state=TransactionState.EMPTY,
            partitions=frozenset(),
            start_ms=-1,
        )
        self.bench = TransactionBench([record], version=version)
        identity = ProducerIdentity(7, epoch)
        self.model = Model(version, {"a": Holder(identity, 1_000)})
        self.producer_ids = {7}
        self.completions = []
        self.models_by_length = {}
        return "a", identity

    def judge(self, name, expected, reply):
        if expected is FRESH:
            assert reply.producer_id not in self.producer_ids
            assert reply.epoch == 0
            self.producer_ids.add(reply.producer_id)
            self.model.holders[name].identity = reply
        elif isinstance(expected, type):
            assert type(reply) is expected
        else:
            assert reply == expected
        return isinstance(reply, ProducerIdentity)

    def identity_of(self, producer, is_rightful):
        """Most producers that were ever there are zombies: let the rightful one act as often."""
        name, identity = producer
        return name, self.model.holders[name].identity if is_rightful else identity

    @rule(target=producers, name=NAMES, timeout_ms=TIMEOUTS_MS)
    def producer_begins(self, name, timeout_ms):
        expected = self.model.init(name, None, timeout_ms)
        reply = self.bench.ask(InitProducerId(name, timeout_ms))
        self.judge(name, expected, reply)
        return name, reply

    @rule(target=producers, producer=producers, timeout_ms=TIMEOUTS_MS)
    def producer_goes_on(self, producer, timeout_ms):
        name, identity = producer
        expected = self.model.init(name, identity, timeout_ms)
        reply = self.bench.ask(InitProducerId(name, timeout_ms, identity))
        return (name, reply) if self.judge(name, expected, reply) else multiple()

    @rule(
        producer=producers,
        is_rightful=st.booleans(),
        partitions=PARTITIONS,
        version=st.sampled_from([2, 1, 0]),
    )
    def partitions_are_added(self, producer, is_rightful, partitions, version):
        name, identity = self.identity_of(producer, is_rightful)
        version = min(version, self.model.version)
        expected = self.model.add(name, identity, partitions, self.bench.now_ms)
        reply = self.bench.ask(AddPartitions(name, identity, partitions, version))
        self.judge(name, expected, reply)

    @rule(
        target=producers,
        producer=producers,
        is_rightful=st.booleans(),
        is_commit=st.booleans(),
        version=st.sampled_from([2, 1, 0]),
    )
    def transaction_ends(self, producer, is_rightful, is_commit, version):
        name, identity = self.identity_of(producer, is_rightful)
        version = min(version, self.model.version)
        expected = self.model.end(name, identity, is_commit, version)
        reply = self.bench.ask(EndTransaction(name, identity, is_commit, version))
        return (name, reply) if self.judge(name, expected, reply) else multiple()

    @rule(delay_ms=st.sampled_from([1, 400, 1_000]))
    def time_passes(self, delay_ms):
        self.bench.pass_ms(delay_ms)
        self.model.time_passes(self.bench.now_ms)

    @rule(is_compacted=st.booleans())
    def coordinator_restarts(self, is_compacted):
        log = self.bench.port.log
        latest = [CoordinatorRecord(key, value) for key, value in dict(log).items()]
        self.completions += self.bench.port.markers
        restarted = self.bench.restarted(latest if is_compacted else log)
        restarted.port.log = log
        self.bench = restarted
        self.model.restart()

    @rule()
    def version_is_upgraded(self):
        self.bench.version = self.model.version = 2

    @invariant()
    def same_state_and_same_markers(self):
        raise_if_different(self.bench, self.model)
        markers = [seen(each) for each in self.completions + self.bench.port.markers]
        in_order = sorted(markers, key=in_words), sorted(self.model.markers, key=in_words)
        assert in_order[0] == in_order[1]
        self.models_by_length[len(self.bench.port.log)] = deepcopy(self.model)

    def teardown(self):
        for length in range(1, len(self.bench.port.log) + 1):
            self.crash_after(length)

    def crash_after(self, length):
        """Whatever was open is aborted in full, and nothing else happens."""
        log = self.bench.port.log[:length]
        bench = TransactionBench(log, now_ms=START_MS, version=self.model.version)
        model = self.models_by_length.get(length)
        if model is None:  # in the midst of a take-over, or of several time-outs
            name = read_transaction_key(log[-1].key)
            assert bench.registry.transactions[name].state in AT_REST
        else:
            raise_if_different(bench, model)
        opened = {
            name: each.partitions
            for name, each in bench.registry.transactions.items()
            if each.state not in AT_REST
        }
        bench.pass_ms(self.bench.now_ms + LONGEST_TIMEOUT_MS)
        markers = [seen(each) for each in bench.port.markers]
        assert {each.transactional_id: each.partitions for each in markers} == opened
        assert not any(each.is_commit for each in markers)
        assert all(each.state in AT_REST for each in bench.registry.transactions.values())


class CoordinatorAgainstModelAtLength(CoordinatorAgainstModel):
    """The same, for as long as `make test` may take."""


CoordinatorAgainstModel.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None
)
CoordinatorAgainstModelAtLength.TestCase.settings = settings(
    max_examples=2_000, stateful_step_count=30, deadline=None
)
TestCoordinatorIsTheModel = CoordinatorAgainstModel.TestCase
TestCoordinatorIsTheModelAtLength = pytest.mark.slow(
    pytest.mark.timeout(900)(CoordinatorAgainstModelAtLength.TestCase)
)
