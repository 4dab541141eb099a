"""An HTTP listener that asks who it is: passwords, rules, and nothing about schemas before both."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.security.acl import (
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)
from headrace.testing import Broker
from tests.wire.raw_http import HttpAnswer, RawHttp

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = {
    "headrace.http.authentication.method": "BASIC",
    "headrace.sasl.users": "admin:all,reader:look,writer:change,nobody:none",
    "connection.failed.authentication.delay.ms": "0",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:admin",
}
SCHEMA = json.dumps({"schema": '"int"'}).encode()
LENGTH = f"Content-Type: application/json\nContent-Length: {len(SCHEMA)}"
REGISTER = f"POST /subjects/s/versions HTTP/1.1\n{LENGTH}"
LOOK_UP = f"POST /subjects/s HTTP/1.1\n{LENGTH}"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(SETTINGS, http=True) as broker:
        for user, operation in (("reader", Operation.READ), ("writer", Operation.WRITE)):
            rule = AclBinding(
                ResourceType.TOPIC,
                "_schemas",
                PatternType.LITERAL,
                Principal.user(user),
                "*",
                operation,
                Permission.ALLOW,
            )
            broker.call(lambda server, rule=rule: server.broker.access.create([rule]))  # type: ignore[misc,union-attr]
        yield broker


def ask(broker: Broker, head: str, user: str | None = None, body: bytes = b"") -> HttpAnswer:
    """As this user, ``NAME:PASSWORD``."""
    if user is not None:
        head += f"\nAuthorization: Basic {b64encode(user.encode()).decode()}"
    with RawHttp(broker.http_url) as client:
        return client.ask(head, body)


@pytest.mark.parametrize("path", ["/subjects", "/subjects/s/versions", "/metrics", "/", "/no"])
@pytest.mark.parametrize("user", [None, "reader:wrong", "carol:look", "reader:"])
def test_nobody_is_served_without_his_password(broker: Broker, path: str, user: str | None) -> None:
    answer = ask(broker, f"GET {path} HTTP/1.1", user)
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Basic realm=")
    assert answer.json == {"error_code": 401, "message": "HTTP 401 Unauthorized"}


def test_health_needs_no_name_and_metrics_need_one(broker: Broker) -> None:
    assert ask(broker, "GET /health HTTP/1.1").body == b"ok\n"
    assert b"headrace_" in ask(broker, "GET /metrics HTTP/1.1", "nobody:none").body


def test_rules_of_the_topic_say_who_reads_and_who_writes(broker: Broker) -> None:
    registered = ask(broker, REGISTER, "writer:change", SCHEMA)
    assert registered.status == 200
    assert ask(broker, LOOK_UP, "reader:look", SCHEMA).json["version"] == 1
    assert ask(broker, "GET /subjects HTTP/1.1", "reader:look").json == ["s"]
    for head, user in (
        (REGISTER, "reader:look"),
        (LOOK_UP, "writer:change"),
        (REGISTER, "nobody:none"),
    ):
        refused = ask(broker, head, user, SCHEMA)
        assert (refused.status, refused.json["error_code"]) == (403, 40301)
    assert ask(broker, "DELETE /subjects/s HTTP/1.1", "reader:look").status == 403
    assert ask(broker, "DELETE /subjects/s HTTP/1.1", "admin:all").json == [1]


def test_refusal_does_not_tell_what_there_is(broker: Broker) -> None:
    ask(broker, REGISTER.replace("/s/", "/there/"), "writer:change", SCHEMA)
    answers = {
        ask(broker, f"GET /subjects/{subject}/versions HTTP/1.1", "nobody:none").body
        for subject in ("there", "not-there")
    }
    assert len(answers) == 1


def test_rule_that_is_taken_away_counts_at_once(broker: Broker) -> None:
    reader = AclBindingFilter(principal=str(Principal.user("reader")))
    with RawHttp(broker.http_url) as client:
        secret = b64encode(b"reader:look").decode()
        question = f"GET /subjects HTTP/1.1\nAuthorization: Basic {secret}"
        assert client.ask(question).status == 200
        gone = broker.call(lambda server: server.broker.access.delete([reader]))  # type: ignore[union-attr]
        assert client.ask(question).status == 403
        broker.call(lambda server: server.broker.access.create(gone[0]))  # type: ignore[union-attr]
        assert client.ask(question).status == 200


def test_everybody_is_anonymous_where_no_log_in_is_asked_for() -> None:
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER}
    with Broker(settings, http=True) as broker:
        assert ask(broker, "GET /subjects HTTP/1.1").json["error_code"] == 40301
        assert ask(broker, "GET /metrics HTTP/1.1").status == 200
