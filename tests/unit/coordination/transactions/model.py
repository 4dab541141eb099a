"""What a transaction coordinator must do, said as simply as possible, without records or states.

A transactional id has one rightful holder, an identity. Either a transaction is open, or the last
one ended in some way. Whoever shows another identity is sent away, with two exceptions: one that
was used up by the last end may repeat that end (KIP-890), and one that was replaced by the last
InitProducerId or end of its own may ask again who it is now (KIP-360). The highest epoch of all is
there to fence: nobody is given it, and whoever shows it is sent away.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.coordination.transactions.commands import ProducerIdentity
from headrace.model.errors import (
    InvalidProducerIdMapping,
    InvalidTransactionState,
    ProducerFenced,
)

FRESH = "an identity with a producer id that was never seen, and epoch 0"
GIVEN_MAX = 32_766
EVER_MAX = 32_767


@dataclass
class Marker:
    transactional_id: str
    producer_id: int
    epoch: int
    is_commit: bool
    partitions: frozenset


@dataclass
class Holder:
    identity: ProducerIdentity
    timeout_ms: int
    is_open: bool = False
    partitions: frozenset = frozenset()
    start_ms: int = 0
    was_commit: bool | None = None
    used_up: tuple[ProducerIdentity, bool] | None = None
    replaced: ProducerIdentity | None = None


@dataclass
class Model:
    """Every verb returns the expected reply: an identity, None, FRESH, or a class of error."""

    version: int
    holders: dict[str, Holder] = field(default_factory=dict)
    markers: list[Marker] = field(default_factory=list)

    def init(self, name, expected, timeout_ms):
        holder = self.holders.get(name)
        if holder is None:
            self.holders[name] = Holder(ProducerIdentity(-1, -1), timeout_ms)
            return FRESH
        if expected is not None and expected.epoch == EVER_MAX:
            return ProducerFenced
        if expected is not None and expected != holder.identity:
            if holder.is_open or expected != holder.replaced:
                return ProducerFenced
            holder.timeout_ms, holder.was_commit, holder.used_up = timeout_ms, None, None
            return holder.identity
        if holder.is_open:
            self.abort_by_force(name)
        before = holder.identity
        holder.timeout_ms, holder.was_commit, holder.used_up = timeout_ms, None, None
        holder.replaced = None if expected is None else before
        if before.epoch >= GIVEN_MAX:
            return FRESH
        holder.identity = ProducerIdentity(before.producer_id, before.epoch + 1)
        return holder.identity

    def add(self, name, identity, partitions, now_ms):
        refusal = self._refusal(name, identity)
        if refusal is not None:
            return refusal
        holder = self.holders[name]
        if not holder.is_open:
            holder.is_open, holder.start_ms, holder.partitions = True, now_ms, frozenset()
            holder.was_commit = holder.used_up = None
            if holder.replaced and holder.replaced.producer_id != identity.producer_id:
                holder.replaced = None
        holder.partitions |= partitions
        return None

    def end(self, name, identity, is_commit, version):
        holder = self.holders.get(name)
        if holder and version >= 2 and holder.used_up and holder.used_up[0] == identity:
            same = holder.used_up[1] == is_commit
            return holder.identity if same else InvalidTransactionState
        refusal = self._refusal(name, identity)
        if refusal is not None:
            return refusal
        if not holder.is_open:
            if version < 2:
                same = holder.was_commit is not None and holder.was_commit == is_commit
                return holder.identity if same else InvalidTransactionState
            if is_commit:
                return InvalidTransactionState
        return self._end(name, holder, is_commit, version)

    def _end(self, name, holder, is_commit, version):
        before = holder.identity
        if version < 2:
            self._close(name, before.epoch, is_commit)
            return before
        is_last = before.epoch >= GIVEN_MAX
        self._close(name, EVER_MAX if is_last else before.epoch + 1, is_commit)
        holder.used_up, holder.replaced = (before, is_commit), before
        if is_last:
            return FRESH
        holder.identity = ProducerIdentity(before.producer_id, before.epoch + 1)
        return holder.identity

    def time_passes(self, now_ms):
        for name, holder in self.holders.items():
            if holder.is_open and holder.start_ms + holder.timeout_ms <= now_ms:
                self.abort_by_force(name)

    def restart(self):
        for holder in self.holders.values():
            holder.replaced = None

    def abort_by_force(self, name):
        """Its producer is fenced: version 2 goes one further, past what looks like a repeat."""
        holder = self.holders[name]
        producer_id, epoch = holder.identity
        epoch = min(epoch + (2 if self.version >= 2 else 1), EVER_MAX)
        self._close(name, epoch, False)
        holder.identity = ProducerIdentity(producer_id, epoch)
        holder.used_up = holder.replaced = None

    def _close(self, name, epoch, is_commit):
        holder = self.holders[name]
        if holder.is_open:
            producer_id = holder.identity.producer_id
            self.markers.append(Marker(name, producer_id, epoch, is_commit, holder.partitions))
        holder.is_open, holder.partitions, holder.was_commit = False, frozenset(), is_commit
        holder.used_up = None

    def _refusal(self, name, identity):
        holder = self.holders.get(name)
        if holder is None or holder.identity.producer_id != identity.producer_id:
            return InvalidProducerIdMapping
        is_holder = holder.identity == identity and identity.epoch != EVER_MAX
        return None if is_holder else ProducerFenced
