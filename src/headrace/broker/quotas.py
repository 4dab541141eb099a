"""Client quotas: which are set, how much each client has taken, how long it must wait.

Nobody is refused for taking too much (creating and deleting topics excepted): whoever did is told
how long to wait, and its connection is not read from for so long. The limits are those of the
metadata, always; ``is_active`` is False while there is none, so that then nothing is counted.
"""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.metadata.quotas import decide_quotas
from headrace.model.errors import (
    HeadraceError,
    InvalidRequest,
    PolicyViolation,
    ThrottlingQuotaExceeded,
)
from headrace.quotas.accounts import Accounts
from headrace.quotas.limits import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from headrace.quotas.rates import Rate
from headrace.quotas.token_bucket import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headrace.broker.metadata_store import MetadataStore
    from headrace.config.broker import BrokerConfig
    from headrace.coordination.metadata.quotas import QuotaChange
    from headrace.coordination.metadata.records import MetadataRecord
    from headrace.environment.ports import Clock
    from headrace.metrics.registry import Metrics
    from headrace.quotas.entities import QuotaEntity
    from headrace.quotas.filters import EntityFilter
    from headrace.quotas.limits import Limit

log = logging.getLogger(__name__)

THROTTLE_MS_MAX = 2**31 - 1
"""What fits into an answer: 24 days."""
CHANGES_MAX = 10_000
"""Quotas that one request may change."""
NO_LIMIT_BYTES = 2**63 - 1


class Client(NamedTuple):
    """Who is counted: the name of the principal, and what the client calls itself."""

    user: str
    client_id: str


class QuotaAlteration(NamedTuple):
    """What is to become of the quotas of one entity."""

    entity: QuotaEntity
    changes: Sequence[QuotaChange]


class FetchVerdict(NamedTuple):
    """How long the client must wait, and whether it gets its records only after that."""

    throttle_ms: int = 0
    is_withheld: bool = False


WELCOME = FetchVerdict()


class Mutations:
    """What one request changes in the cluster, counted in partitions. As it is: without a limit."""

    throttle_ms = 0
    is_limited = False

    def take(self, partition_count: int) -> None:
        """ThrottlingQuotaExceeded if the client has to wait first."""


UNLIMITED_MUTATIONS = Mutations()


class LimitedMutations(Mutations):
    """Strict: nothing once the tokens are used up. Otherwise everything, and a longer wait."""

    is_limited = True

    def __init__(
        self, bucket: TokenBucket, limit: float, clock: Clock, metrics: Metrics, *, is_strict: bool
    ) -> None:
        self._bucket = bucket
        self._limit = limit
        self._clock = clock
        self._metrics = metrics
        self._is_strict = is_strict

    def take(self, partition_count: int) -> None:
        if not partition_count:
            return  # of a topic that does not exist, which is what the client shall hear
        now_ms = _now_ms(self._clock)
        owed_ms = self._bucket.throttle_ms(self._limit, now_ms)
        if self._is_strict and owed_ms:
            self._wait(owed_ms)
            raise ThrottlingQuotaExceeded(f"{CONTROLLER_MUTATION_RATE}: wait for {owed_ms} ms")
        self._bucket.take(partition_count, self._limit, now_ms)
        if not self._is_strict:
            self._wait(self._bucket.throttle_ms(self._limit, now_ms))

    def _wait(self, owed_ms: int) -> None:
        if owed_ms and not self.throttle_ms:
            self._metrics.count_throttled(CONTROLLER_MUTATION_RATE, owed_ms)
        self.throttle_ms = min(owed_ms, THROTTLE_MS_MAX)


class Quotas:
    """The door to all of it."""

    def __init__(
        self, store: MetadataStore, config: BrokerConfig, clock: Clock, metrics: Metrics
    ) -> None:
        self._store = store
        self._limits = store.state.quotas
        self._clock = clock
        self._metrics = metrics
        self.is_active = len(self._limits) > 0
        """The one thing that is looked at with each request while no quota is set."""
        self._window_ms = config.quota_window_size_seconds * 1000
        self._span_seconds = max(1, config.quota_window_num - 1) * config.quota_window_size_seconds
        open_rate = partial(Rate, config.quota_window_num, self._window_ms)
        self._rates = {
            name: Accounts(open_rate)
            for name in (
                PRODUCER_BYTE_RATE,
                CONSUMER_BYTE_RATE,
                REQUEST_PERCENTAGE,
                CONNECTION_CREATION_RATE,
            )
        }
        self._buckets = Accounts(
            partial(
                TokenBucket,
                config.controller_quota_window_num,
                config.controller_quota_window_size_seconds * 1000,
            )
        )

    # --- what is set ----------------------------------------------------------------------------

    def describe(self, wanted: EntityFilter) -> Iterator[tuple[QuotaEntity, Mapping[str, float]]]:
        return ((entity, values) for entity, values in self._limits if wanted.matches(entity))

    def alter(
        self, alterations: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> list[HeadraceError | None]:
        """What is wrong with each; those with which nothing is are carried out together."""
        times_named = Counter(alteration.entity for alteration in alterations)
        records: list[MetadataRecord] = []
        outcomes: list[HeadraceError | None] = []
        for entity, changes in alterations:
            try:
                if times_named[entity] > 1:
                    raise InvalidRequest("the entity is named more than once")
                records += decide_quotas(self._store.state, entity, changes)
            except HeadraceError as error:
                outcomes.append(error)
            else:
                outcomes.append(None)
        if len(records) > CHANGES_MAX:
            raise PolicyViolation(f"{len(records)} quotas at once: the limit is {CHANGES_MAX}")
        if records and not validate_only:
            self._store.commit(records)
            self._limits_changed()
            log.info("quotas changed: %d records, now %d entities", len(records), len(self._limits))
        return outcomes

    def _limits_changed(self) -> None:
        self.is_active = len(self._limits) > 0
        if not self.is_active:
            self._buckets.clear()
            for accounts in self._rates.values():
                accounts.clear()

    # --- what is taken --------------------------------------------------------------------------

    def count_produced(self, client: Client, size_bytes: int) -> int:
        """For how many milliseconds the client must wait."""
        return self._count(PRODUCER_BYTE_RATE, client, size_bytes, THROTTLE_MS_MAX)

    def count_request(self, client: Client, seconds: float) -> int:
        """For how many milliseconds the client must wait; at most for a window."""
        return self._count(REQUEST_PERCENTAGE, client, 100 * seconds, self._window_ms)

    def note_request(self, client: Client, seconds: float) -> None:
        """Time that went into a request whose answer is gone already."""
        limit = self._limits.of_client(REQUEST_PERCENTAGE, *client)
        if limit is not None:
            now_ms = _now_ms(self._clock)
            self._rate(REQUEST_PERCENTAGE, limit, now_ms).record(100 * seconds, now_ms)

    def count_fetched(self, client: Client, size_bytes: int) -> FetchVerdict:
        """What would exceed the quota is withheld and not counted: it will be asked for again.

        A single batch that is too large for the quota by itself must pass some day: it does when
        nothing else was fetched of late.
        """
        limit = self._limits.of_client(CONSUMER_BYTE_RATE, *client)
        if limit is None or not size_bytes:
            return WELCOME
        now_ms = _now_ms(self._clock)
        rate = self._rate(CONSUMER_BYTE_RATE, limit, now_ms)
        is_first = rate.total(now_ms) <= 0
        rate.record(size_bytes, now_ms)
        throttle_ms = min(rate.throttle_ms(limit.value, now_ms), THROTTLE_MS_MAX)
        if not throttle_ms:
            return WELCOME
        if not is_first:
            rate.record(-size_bytes, now_ms)
        self._metrics.count_throttled(CONSUMER_BYTE_RATE, throttle_ms)
        return FetchVerdict(throttle_ms, is_withheld=not is_first)

    def fetch_bytes_max(self, client: Client) -> int:
        """More than this in one answer would always exceed the quota."""
        limit = self._limits.of_client(CONSUMER_BYTE_RATE, *client)
        if limit is None:
            return NO_LIMIT_BYTES
        return min(NO_LIMIT_BYTES, max(1, int(limit.value * self._span_seconds)))

    def mutations(self, client: Client, *, is_strict: bool) -> Mutations:
        """For one request that creates or deletes partitions."""
        limit = self._limits.of_client(CONTROLLER_MUTATION_RATE, *client)
        if limit is None:
            return UNLIMITED_MUTATIONS
        bucket = self._buckets.of(limit.account, _now_ms(self._clock))
        return LimitedMutations(
            bucket, limit.value, self._clock, self._metrics, is_strict=is_strict
        )

    def connection_delay_ms(self, host: str) -> int:
        """0: a new connection from there is welcome. Else it must be closed, after so long."""
        limit = self._limits.of_address(host)
        if limit is None:
            return 0
        now_ms = _now_ms(self._clock)
        rate = self._rate(CONNECTION_CREATION_RATE, limit, now_ms)
        rate.record(1, now_ms)
        delay_ms = min(rate.throttle_ms(limit.value, now_ms), self._window_ms)
        if delay_ms:
            rate.record(-1, now_ms)
            self._metrics.count_throttled(CONNECTION_CREATION_RATE, delay_ms)
        return delay_ms

    def _count(self, name: str, client: Client, amount: float, throttle_ms_max: int) -> int:
        limit = self._limits.of_client(name, *client)
        if limit is None:
            return 0
        now_ms = _now_ms(self._clock)
        rate = self._rate(name, limit, now_ms)
        rate.record(amount, now_ms)
        throttle_ms = min(rate.throttle_ms(limit.value, now_ms), throttle_ms_max)
        if throttle_ms:
            self._metrics.count_throttled(name, throttle_ms)
        return throttle_ms

    def _rate(self, name: str, limit: Limit, now_ms: int) -> Rate:
        return self._rates[name].of(limit.account, now_ms)


def _now_ms(clock: Clock) -> int:
    return int(clock.monotonic() * 1000)
