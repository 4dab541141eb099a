"""What one Kafka listener needs to know who connects: TLS, the mapping of certificates, SASL.

Built before the listener binds, so that a wrong file or rule stops the start with its name.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from headrace.config.broker_security import OAUTHBEARER, PLAIN
from headrace.frontends.common.tls_reload import TlsReload
from headrace.frontends.common.warning_limit import WarningLimit
from headrace.frontends.kafka.sasl_mechanisms import SaslMechanisms
from headrace.model.errors import PackageNotInstalled
from headrace.security.acl import ANONYMOUS, Principal
from headrace.security.distinguished_name import subject_of
from headrace.security.principal_mapping import PrincipalMapping
from headrace.security.tls_context import ClientAuth, ListenerTls, TlsFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.broker.broker import Broker
    from headrace.config.broker_security import SecuritySettings
    from headrace.config.listeners import Listener
    from headrace.frontends.common.key_set_refresh import RefreshedTokens

log = logging.getLogger(__name__)
_Result = TypeVar("_Result")

PASSWORD_THREADS = 1
"""However many clients send passwords at once, this is all that their checks take of the machine.
"""


class ListenerSecurity:
    """Of one listener. Must be used inside a running loop."""

    def __init__(self, broker: Broker, address: Listener) -> None:
        """InvalidConfig for files and rules that cannot be used."""
        self.loop = asyncio.get_running_loop()
        self.clock = broker.clock
        self.metrics = broker.metrics
        self.listener_name = address.name
        self.warnings = WarningLimit()
        self.settings = settings = address.security
        self.tls: ListenerTls | None = None
        self.mechanisms: SaslMechanisms | None = None
        self._reload: TlsReload | None = None
        self._tokens: RefreshedTokens | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._principals = PrincipalMapping(settings.ssl_principal_mapping_rules)
        if address.uses_tls:
            self.tls = ListenerTls(_tls_files(settings))
            interval_s = settings.ssl_reload_interval_ms / 1000
            self._reload = TlsReload(self.loop, self.tls, interval_s)
        if address.uses_sasl:
            self._tokens = self._maybe_tokens(settings)
            validate = None if self._tokens is None else self._tokens.validate
            self.mechanisms = SaslMechanisms(settings, broker.credentials, broker.chance, validate)
            if PLAIN in self.mechanisms.enabled and not (address.uses_tls or address.is_loopback):
                log.warning("%s: PLAIN sends passwords in clear: add TLS", address.url())

    def _maybe_tokens(self, settings: SecuritySettings) -> RefreshedTokens | None:
        if OAUTHBEARER not in settings.sasl_enabled_mechanisms:
            return None
        url = settings.sasl_oauthbearer_jwks_endpoint_url
        assert url is not None, "refused when the settings were read"
        refresh_s = settings.sasl_oauthbearer_jwks_endpoint_refresh_ms / 1000
        # Only here: PyJWT is an extra, and no other mechanism needs it.
        try:
            from headrace.frontends.common.key_set_refresh import RefreshedTokens
            from headrace.security.token_validation import TokenRules
        except ModuleNotFoundError as error:
            raise PackageNotInstalled(OAUTHBEARER, "PyJWT", "security") from error
        rules = TokenRules(
            issuer=settings.sasl_oauthbearer_expected_issuer,
            audiences=frozenset(settings.sasl_oauthbearer_expected_audience),
            clock_skew_ms=settings.sasl_oauthbearer_clock_skew_seconds * 1000,
            principal_claim=settings.sasl_oauthbearer_sub_claim_name,
            scope_claim=settings.sasl_oauthbearer_scope_claim_name,
        )
        return RefreshedTokens(self.loop, rules, url, refresh_s)

    def start(self) -> None:
        if self._reload is not None:
            self._reload.start()
        if self._tokens is not None:
            self._tokens.start()

    def stop(self) -> None:
        if self._reload is not None:
            self._reload.stop()
        if self._tokens is not None:
            self._tokens.stop()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def principal_of(self, certificate: Mapping[str, object] | None) -> Principal:
        """Who shows this certificate; AuthenticationFailed if no rule fits it."""
        if not certificate:
            return ANONYMOUS
        return Principal.user(self._principals.user_name(subject_of(certificate)))

    def run_in_thread(self, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """For the checks of passwords."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(PASSWORD_THREADS, "headrace-passwords")
        return self.loop.run_in_executor(self._threads, work)


def _tls_files(settings: SecuritySettings) -> TlsFiles:
    assert settings.ssl_keystore_location is not None, "refused when the settings were read"
    return TlsFiles(
        certificate_chain_file=settings.ssl_keystore_location,
        key_file=settings.ssl_key_location,
        key_password=settings.ssl_key_password,
        trust_file=settings.ssl_truststore_location,
        client_auth=ClientAuth(settings.ssl_client_auth),
        protocols=settings.ssl_enabled_protocols,
    )
