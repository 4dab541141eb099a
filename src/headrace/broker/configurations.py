"""Settings that can change while the broker runs: of topics, and of the broker itself.

``broker`` is the broker's configuration as it is now; whoever needs a value at a later time keeps
this object, not the value. A change is checked, written to the metadata log, and told to listeners.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.config.alter import (
    Change,
    alter_broker,
    alter_topic,
    replace_broker,
    replace_topic,
)
from headrace.config.broker import (
    BrokerConfig,
    raise_if_invalid_broker_config,
    raise_if_not_dynamic,
    settings_without_effect,
)
from headrace.config.broker_tables import TABLE_OPTIONS_PREFIX
from headrace.config.topic import TopicConfig, raise_if_invalid_topic_config
from headrace.coordination.metadata.configs import decide_settings
from headrace.coordination.metadata.records import ResourceType
from headrace.coordination.metadata.state import ConfigResource
from headrace.coordination.metadata.topics import known_topic
from headrace.model.errors import InvalidConfig, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.broker.metadata_store import MetadataStore

log = logging.getLogger(__name__)

STORAGE = "storage"
ALL_BROKERS = ConfigResource(ResourceType.BROKER, "")


class Configurations:
    """The settings in force, and the only door through which they change."""

    def __init__(self, store: MetadataStore, static: Mapping[str, str]) -> None:
        """``static``: what file, environment and flags said at the start."""
        self._store = store
        self._static = dict(static)
        self._listeners: list[Callable[[ConfigResource], None]] = []
        self.this_broker = ConfigResource(ResourceType.BROKER, str(store.node.id))
        self.broker = self._resolve_broker()

    def settings(self, resource: ConfigResource) -> Mapping[str, str]:
        """As set, legal or not: a directory may come from a broker with other options."""
        return self._store.state.config(resource)

    def topic_settings(self, name: str) -> dict[str, str]:
        """A topic's own settings, without those that mean nothing here."""
        return _legal_topic_settings(self.settings(ConfigResource(ResourceType.TOPIC, name)))

    def topic(self, name: str) -> TopicConfig:
        return self.resolve_topic(self.topic_settings(name))

    def resolve_topic(self, settings: Mapping[str, str]) -> TopicConfig:
        """The values of legal ``settings``; the broker's alone if they contradict each other.

        Where only the table cannot be what it was (the broker may allow fewer places now), only the
        table is given up: how long records are kept must not depend on it.
        """
        try:
            return TopicConfig.resolve(settings, self.broker)
        except InvalidConfig as error:
            kept = {
                name: text
                for name, text in settings.items()
                if not name.startswith(TABLE_OPTIONS_PREFIX)
            }
            if len(kept) < len(settings):
                log.warning("the topic is kept as no table: %s", error.message)
                return self.resolve_topic(kept)
            log.warning("topic settings are not used: %s", error.message)
            return TopicConfig.resolve({}, self.broker)

    def unused_settings(self) -> list[str]:
        """Sentences about settings in the metadata that mean nothing here."""
        sentences = []
        for resource, settings in self._store.state.configs():
            legal: Mapping[str, str] = {}
            if resource.type is ResourceType.TOPIC:
                legal = _legal_topic_settings(settings)
            elif resource in (self.this_broker, ALL_BROKERS):
                legal = _legal_broker_settings(settings)
            unused = sorted(settings.keys() - legal.keys())
            if unused:
                owner = f"{resource.type.name.lower()} {resource.name}".strip()
                sentences.append(f"settings of {owner} are not used: {', '.join(unused)}")
        return sentences

    def settings_without_effect(self) -> list[str]:
        """Sentences about what was given at the start and does nothing here."""
        return settings_without_effect(self._static)

    def on_change(self, listener: Callable[[ConfigResource], None]) -> None:
        """Call ``listener`` after every change, in the order of registration."""
        self._listeners.append(listener)

    def alter(
        self, resource: ConfigResource, changes: Sequence[Change], *, validate_only: bool = False
    ) -> None:
        """Change some settings and leave the others."""
        self._raise_if_unalterable(resource)
        current = self.settings(resource)
        if resource.type is ResourceType.TOPIC:
            legal = _legal_topic_settings(current)
            altered = alter_topic(legal, changes, self.broker)
        else:
            legal = _legal_broker_settings(current)
            altered = alter_broker(legal, changes, self.broker)
        changed = {change.name for change in changes}
        kept = {
            name: value
            for name, value in current.items()
            if name not in legal and name not in changed
        }
        self._apply(resource, altered | kept, validate_only=validate_only)

    def replace(
        self,
        resource: ConfigResource,
        settings: Mapping[str, str | None],
        *,
        validate_only: bool = False,
    ) -> None:
        """Set exactly these settings; all others go back to their defaults."""
        self._raise_if_unalterable(resource)
        if resource.type is ResourceType.TOPIC:
            wanted = replace_topic(settings, self.broker)
        else:
            wanted = replace_broker(settings, self.broker)
        self._apply(resource, wanted, validate_only=validate_only)

    def _apply(
        self, resource: ConfigResource, wanted: Mapping[str, str], *, validate_only: bool
    ) -> None:
        current = self.settings(resource)
        if resource.type is ResourceType.TOPIC and current.get(STORAGE) != wanted.get(STORAGE):
            raise InvalidConfig(f"{STORAGE} cannot be changed once the topic exists")
        records = decide_settings(resource, current, wanted)
        if validate_only or not records:
            return
        self._store.commit(records)
        if resource.type is ResourceType.BROKER:
            self.broker = self._resolve_broker()
        for listener in self._listeners:
            listener(resource)

    def raise_if_not_this_broker(self, name: str) -> None:
        if name != self.this_broker.name:
            raise InvalidRequest(
                f"broker {name!r}: expected {self.this_broker.name}, or nothing for all brokers"
            )

    def _raise_if_unalterable(self, resource: ConfigResource) -> None:
        if resource.type is ResourceType.TOPIC:
            known_topic(self._store.state, resource.name)
        elif resource.type is not ResourceType.BROKER:
            raise InvalidRequest(f"settings of {resource.type.name} are not kept by this broker")
        elif resource != ALL_BROKERS:
            self.raise_if_not_this_broker(resource.name)

    def _resolve_broker(self) -> BrokerConfig:
        return BrokerConfig.resolve(
            self._static,
            dynamic=_legal_broker_settings(self.settings(self.this_broker)),
            dynamic_default=_legal_broker_settings(self.settings(ALL_BROKERS)),
        )


def _legal_topic_settings(settings: Mapping[str, str]) -> dict[str, str]:
    return _accepted(settings, raise_if_invalid_topic_config)


def _legal_broker_settings(settings: Mapping[str, str]) -> dict[str, str]:
    return _accepted(settings, _raise_if_illegal_at_run_time)


def _raise_if_illegal_at_run_time(name: str, value: str) -> None:
    raise_if_not_dynamic(name)
    raise_if_invalid_broker_config(name, value)


def _accepted(
    settings: Mapping[str, str], raise_if_illegal: Callable[[str, str], None]
) -> dict[str, str]:
    accepted = {}
    for name, value in settings.items():
        try:
            raise_if_illegal(name, value)
        except InvalidConfig:
            continue  # It stays in the metadata, and ``unused_settings`` tells of it.
        accepted[name] = value
    return accepted
