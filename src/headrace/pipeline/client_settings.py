"""``kafka.*`` options as the Java clients name them, in the words of librdkafka.

Most names are the same. What differs is security (JAAS lines, key stores), a few sizes, and options
that only a Java client has: those say nothing about what is read or written and are left out, so
that a job which used Spark's Kafka source runs unchanged. Names of librdkafka itself pass through.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from headrace.pipeline.errors import UnusableClientOption

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

log = logging.getLogger(__name__)

Role = Literal["admin", "consumer", "producer"]

BOOTSTRAP_SERVERS = "bootstrap.servers"
CLIENT_ID = "headrace-pipeline"

REQUEST_TIMEOUT_MS = "request.timeout.ms"
API_TIMEOUT_MS = "default.api.timeout.ms"

_RENAMED = {
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
}
_JAVA_ONLY = frozenset(
    {
        API_TIMEOUT_MS,
        "auto.include.jmx.reporter",
        "buffer.memory",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "config.providers",
        "exclude.internal.topics",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.poll.records",
        "metadata.max.idle.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.assignment.strategy",  # No group is used, so nothing is assigned.
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "partitioner.ignore.keys",
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "security.providers",
        "socket.connection.setup.timeout.max.ms",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "value.deserializer",
        "value.serializer",
    }
)
_JAVA_ONLY_PREFIXES = (
    "sasl.kerberos.ticket.renew.",
    "sasl.login.connect.",
    "sasl.login.read.",
    "sasl.login.refresh.",
    "sasl.login.retry.",
    "sasl.oauthbearer.clock.",
    "sasl.oauthbearer.expected.",
    "sasl.oauthbearer.jwks.",
)
_NOT_ENFORCED = frozenset({"ssl.enabled.protocols"})
"""They narrow what TLS may do, and cannot be handed on: worth a warning."""

_CONNECTION_PREFIXES = (
    "bootstrap.",
    "broker.",
    "client.",
    "connections.",
    "debug",
    "log",
    "metadata.",
    "reconnect.",
    "retry.",
    "sasl.",
    "security.",
    "socket.",
    "ssl.",
    "topic.metadata.",
)
"""What every client needs; an admin client warns about anything else."""

_JAAS = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(.*)", re.S
)
_JAAS_OPTION = re.compile(r'([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|\'([^\']*)\'|([^\s;]+))')
_PEM_SUFFIXES = (".pem", ".crt", ".cer")
_PKCS12_SUFFIXES = (".p12", ".pfx", ".pkcs12")
CONVERT_HINT = (
    "a Java key store cannot be read here: give PEM files (ssl.ca.location,"
    " ssl.certificate.location, ssl.key.location), or the type PEM"
)


class _LoginModule(NamedTuple):
    name: str
    options: dict[str, str]


def librdkafka_settings(settings: Mapping[str, str], role: Role) -> dict[str, str]:
    """Settings for a client of confluent-kafka; UnusableClientOption if one cannot be meant."""
    if not settings.get(BOOTSTRAP_SERVERS):
        raise UnusableClientOption(f"kafka.{BOOTSTRAP_SERVERS} is missing: where is the broker?")
    found = {"client.id": CLIENT_ID, **_plain_settings(settings, role)}
    found.update(_login_settings(settings))
    found.update(_trust_store_settings(settings))
    found.update(_key_store_settings(settings))
    if found.get("ssl.endpoint.identification.algorithm") == "":
        found["ssl.endpoint.identification.algorithm"] = "none"
    return found


def timeout_seconds(settings: Mapping[str, str], name: str, default_ms: int) -> float:
    """A time-out in seconds, from an option in milliseconds."""
    text = settings.get(name, str(default_ms))
    try:
        milliseconds = int(text)
    except ValueError as error:
        raise UnusableClientOption(f"kafka.{name}={text!r} is no number of milliseconds") from error
    if milliseconds <= 0:
        raise UnusableClientOption(f"kafka.{name}={milliseconds} must be more than 0")
    return milliseconds / 1000


def _plain_settings(settings: Mapping[str, str], role: Role) -> dict[str, str]:
    found = {}
    for name, value in settings.items():
        if name in _NOT_ENFORCED:
            log.warning("kafka.%s has no effect here: the TLS library chooses", name)
        elif not _is_left_out(name, role):
            found[_RENAMED.get(name, name)] = "0" if _is_system_default(name, value) else value
    return found


def _is_left_out(name: str, role: Role) -> bool:
    if name in _JAVA_ONLY or name in _TRANSLATED or name.startswith(_JAVA_ONLY_PREFIXES):
        return True
    if role == "producer":
        return False
    return name == REQUEST_TIMEOUT_MS or (
        role == "admin" and not name.startswith(_CONNECTION_PREFIXES)
    )


def _is_system_default(name: str, value: str) -> bool:
    """Java says -1 where librdkafka says 0: let the operating system choose."""
    return name in ("receive.buffer.bytes", "send.buffer.bytes") and value == "-1"


# --- log-in --------------------------------------------------------------------------------------


def _login_settings(settings: Mapping[str, str]) -> dict[str, str]:
    text = settings.get("sasl.jaas.config")
    if not text:
        return {}
    module = _parse_jaas(text)
    translate = _LOGIN_MODULES.get(module.name)
    if translate is None:
        raise UnusableClientOption(
            f"kafka.sasl.jaas.config: login module {module.name} is not known here, only"
            f" {', '.join(sorted(_LOGIN_MODULES))}"
        )
    return translate(module.options)


def _parse_jaas(text: str) -> _LoginModule:
    """No part of the line goes into an error message: it holds a password."""
    match = _JAAS.match(text)
    if match is None:
        raise UnusableClientOption(
            "kafka.sasl.jaas.config: expected 'MODULE required name=\"value\" ...;'"
        )
    options = {
        name: re.sub(r"\\(.)", r"\1", quoted) or single or bare
        for name, quoted, single, bare in _JAAS_OPTION.findall(match.group(2))
    }
    return _LoginModule(match.group("module").rpartition(".")[2], options)


def _password_login(options: Mapping[str, str]) -> dict[str, str]:
    try:
        return {"sasl.username": options["username"], "sasl.password": options["password"]}
    except KeyError as error:
        raise UnusableClientOption(f"kafka.sasl.jaas.config: {error.args[0]} is missing") from error


def _token_login(options: Mapping[str, str]) -> dict[str, str]:
    if "clientId" not in options:
        raise UnusableClientOption(
            "kafka.sasl.jaas.config: OAuthBearerLoginModule needs clientId and clientSecret here,"
            " with kafka.sasl.oauthbearer.token.endpoint.url"
        )
    found = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": options["clientId"],
        "sasl.oauthbearer.client.secret": options.get("clientSecret", ""),
    }
    if "scope" in options:
        found["sasl.oauthbearer.scope"] = options["scope"]
    return found


def _kerberos_login(options: Mapping[str, str]) -> dict[str, str]:
    names = {
        "keyTab": "sasl.kerberos.keytab",
        "principal": "sasl.kerberos.principal",
        "serviceName": "sasl.kerberos.service.name",
    }
    return {ours: options[name] for name, ours in names.items() if name in options}


_LOGIN_MODULES: dict[str, Callable[[Mapping[str, str]], dict[str, str]]] = {
    "PlainLoginModule": _password_login,
    "ScramLoginModule": _password_login,
    "OAuthBearerLoginModule": _token_login,
    "Krb5LoginModule": _kerberos_login,
}


# --- TLS -----------------------------------------------------------------------------------------


def _trust_store_settings(settings: Mapping[str, str]) -> dict[str, str]:
    if "ssl.truststore.certificates" in settings:
        return {"ssl.ca.pem": settings["ssl.truststore.certificates"]}
    location = settings.get("ssl.truststore.location")
    if not location:
        return {}
    if _store_type(settings, "ssl.truststore") != "PEM":
        raise UnusableClientOption(f"kafka.ssl.truststore.location={location}: {CONVERT_HINT}")
    return {"ssl.ca.location": location}


def _key_store_settings(settings: Mapping[str, str]) -> dict[str, str]:
    found = {}
    if "ssl.keystore.certificate.chain" in settings:
        found["ssl.certificate.pem"] = settings["ssl.keystore.certificate.chain"]
    if "ssl.keystore.key" in settings:
        found["ssl.key.pem"] = settings["ssl.keystore.key"]
    location = settings.get("ssl.keystore.location")
    if not location:
        return found
    kind = _store_type(settings, "ssl.keystore")
    if kind == "PEM":
        return {**found, "ssl.certificate.location": location, "ssl.key.location": location}
    if kind != "PKCS12":
        raise UnusableClientOption(f"kafka.ssl.keystore.location={location}: {CONVERT_HINT}")
    found["ssl.keystore.location"] = location
    if "ssl.keystore.password" in settings:
        found["ssl.keystore.password"] = settings["ssl.keystore.password"]
    return found


def _store_type(settings: Mapping[str, str], store: str) -> str:
    """As declared; else by the name of the file, since Java's default (JKS) is of no use here."""
    declared = settings.get(f"{store}.type")
    if declared:
        return declared.upper()
    location = settings[f"{store}.location"].lower()
    if location.endswith(_PEM_SUFFIXES):
        return "PEM"
    return "PKCS12" if location.endswith(_PKCS12_SUFFIXES) else "JKS"


_TRANSLATED = frozenset(
    {
        "sasl.jaas.config",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
    }
)
"""Looked at as a whole by the functions above."""
