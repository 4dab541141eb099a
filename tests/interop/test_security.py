"""Real clients over secured listeners: each way in, and the ways in which they are kept out."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.testing import Broker

from ..wire import secure
from .builds import java_class_path
from .secure_clients import CLIENTS, Access, java_properties

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.interop

RUN_TIMEOUT_S = 180.0
REFUSAL_S = 2.0
LOG_TAIL_CHARACTERS = 3_000
LISTENERS = {
    "ssl": "kafka+ssl://127.0.0.1:0",
    "mutual": "kafka+ssl://127.0.0.1:0?name=mutual",
    "sasl_plaintext": "kafka+sasl://127.0.0.1:0",
    "sasl_ssl": "kafka+sasl_ssl://127.0.0.1:0",
    "strict": "kafka+sasl_ssl://127.0.0.1:0?name=strict",
}


@dataclass(frozen=True)
class World:
    """A broker with one listener of each kind, and what gets one in."""

    broker: Broker
    certificates: secure.Certificates
    stranger: secure.Certificates

    def bootstrap(self, listener: str) -> str:
        return f"127.0.0.1:{self.broker.port_of(listener)}"

    def good(self) -> dict[str, tuple[str, Access]]:
        """Ways in by name, each with its listener."""
        tls = Access("SSL", authority_file=self.certificates.authority)
        both = replace(tls, protocol="SASL_SSL")
        clear = Access("SASL_PLAINTEXT")
        token = secure.token()
        return {
            "ssl": ("ssl", tls),
            "certificate": ("mutual", replace(tls, client_file=self.certificates.client)),
            "scram-256": ("sasl_plaintext", replace(clear, mechanism="SCRAM-SHA-256")),
            "scram-512-tls": ("sasl_ssl", replace(both, mechanism="SCRAM-SHA-512")),
            "plain": ("sasl_plaintext", replace(clear, mechanism="PLAIN")),
            "plain-tls": ("sasl_ssl", replace(both, mechanism="PLAIN")),
            "token-tls": ("sasl_ssl", replace(both, mechanism="OAUTHBEARER", token=token)),
        }

    def bad(self) -> dict[str, tuple[str, Access]]:
        good = self.good()
        tls, scram = good["ssl"][1], good["scram-512-tls"][1]
        plain, token = good["plain-tls"][1], good["token-tls"][1]
        expired = secure.token(seconds=-120)
        forged = secure.token(key=secure.FORGED_KEY)
        unsigned = secure.token(key=None, algorithm="none")
        ways = {
            "wrong-password-scram": ("sasl_ssl", replace(scram, password="wrong")),
            "wrong-password-plain": ("sasl_ssl", replace(plain, password="wrong")),
            "unknown-user": ("sasl_ssl", replace(scram, user="nobody")),
            "wrong-authority": ("ssl", replace(tls, authority_file=self.stranger.authority)),
            "no-certificate": ("mutual", tls),
            "expired-token": ("sasl_ssl", replace(token, token=expired)),
            "forged-token": ("sasl_ssl", replace(token, token=forged)),
            "unsigned-token": ("sasl_ssl", replace(token, token=unsigned)),
            "mechanism-not-enabled": ("strict", plain),
        }
        return {
            name: (listener, replace(access, patience_s=REFUSAL_S))
            for name, (listener, access) in ways.items()
        }


GOOD = ("ssl", "certificate", "scram-256", "scram-512-tls", "plain", "plain-tls", "token-tls")
BAD = (
    "wrong-password-scram",
    "wrong-password-plain",
    "unknown-user",
    "wrong-authority",
    "no-certificate",
    "expired-token",
    "forged-token",
    "unsigned-token",
    "mechanism-not-enabled",
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("security")
    certificates = secure.Certificates(directory / "certificates")
    settings = {
        **certificates.settings,
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "headrace.sasl.users": "alice:secret",
        "sasl.oauthbearer.jwks.endpoint.url": secure.key_set(directory),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.strict.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    }
    with Broker(settings, listeners=list(LISTENERS.values())) as broker:
        yield World(broker, certificates, secure.Certificates(directory / "stranger"))


@pytest.mark.parametrize("client", CLIENTS)
def test_client_gets_in_and_is_kept_out(world: World, client: str) -> None:
    topic = world.broker.create_topic(f"by-{client}")
    ways = {
        name: (world.bootstrap(listener), asdict(access))
        for name, (listener, access) in (world.good() | world.bad()).items()
    }
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.interop.secure_clients"],
        input=json.dumps({"client": client, "topic": topic, "ways": ways}),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        encoding="utf-8",
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-LOG_TAIL_CHARACTERS:]
    outcomes = [json.loads(line) for line in result.stdout.splitlines()]
    expected = dict.fromkeys(GOOD, "ok") | dict.fromkeys(BAD, "refused")
    assert {name: outcome for name, outcome, _ in outcomes} == expected, outcomes


@pytest.mark.maven
def test_java_gets_in_and_is_kept_out(world: World, tmp_path: Path) -> None:
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("mvn, javac, java not on this machine")
    topic = world.broker.create_topic("by-java")
    ways = world.good() | world.bad()
    files = [write_properties(tmp_path / way, world, *ways[way]) for way in ways]
    command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += ["-cp", java_class_path(), "SecureRoundTrips", topic, *files]
    result = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=RUN_TIMEOUT_S, check=True
    )
    outcomes = dict(line.split() for line in result.stdout.splitlines())
    authentication, tls = "SaslAuthenticationException", "SslAuthenticationException"
    expected = dict.fromkeys(GOOD, "ok") | dict.fromkeys(BAD, authentication)
    expected |= {"wrong-authority": tls, "no-certificate": tls}
    assert outcomes == expected | {"mechanism-not-enabled": "UnsupportedSaslMechanismException"}


def write_properties(path: Path, world: World, listener: str, access: Access) -> str:
    properties = java_properties(world.bootstrap(listener), access)
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return str(path)
