"""DescribeUserScramCredentials and AlterUserScramCredentials."""

from __future__ import annotations

import hashlib
from typing import Any

from headrace.codecs.kafka.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from headrace.codecs.kafka.generated.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.handlers import (
    api_50_describe_user_scram_credentials,
    api_51_alter_user_scram_credentials,
)
from headrace.security.acl import ANONYMOUS, Principal
from headrace.security.scram_credential import ScramMechanism
from headrace.testing.metadata_bench import MetadataBench

SHA_256, SHA_512 = 1, 2
CLUSTER_REFUSED, UNSUPPORTED_MECHANISM, STORAGE_ERROR = 31, 33, 56
NOT_FOUND, DUPLICATE, UNACCEPTABLE = 91, 92, 93


def upsertion(user: str, mechanism: int = SHA_256, iterations: int = 4096) -> Any:
    name = "sha512" if mechanism == SHA_512 else "sha256"
    salted = hashlib.pbkdf2_hmac(name, b"secret", b"salt", max(iterations, 1))
    return ScramCredentialUpsertion(user, mechanism, iterations, b"salt", salted)


def answered(bench: MetadataBench, handler: Any, request: Any, who: Principal) -> Any:
    answer = handler.handle(request, bench.context(0, who))
    if isinstance(answer, Pending):
        answers: list[Any] = []
        answer.attach(answers.append)
        bench.settle()
        (answer,) = answers
    return answer


def alter(
    bench: MetadataBench,
    *upsertions: ScramCredentialUpsertion,
    deletions: Any = (),
    who: Principal = ANONYMOUS,
) -> dict[str, int]:
    request = AlterUserScramCredentialsRequest(deletions, upsertions)
    answer = answered(bench, api_51_alter_user_scram_credentials, request, who)
    assert all((each.error_message is None) == (each.error_code == 0) for each in answer.results)
    return {each.user: each.error_code for each in answer.results}


def describe(bench: MetadataBench, *users: str) -> dict[str, Any]:
    """The mechanisms of each user, or the code of the error."""
    request = DescribeUserScramCredentialsRequest([UserName(user) for user in users] or None)
    answer = answered(bench, api_50_describe_user_scram_credentials, request, ANONYMOUS)
    assert answer.error_code == 0
    return {
        each.user: each.error_code or [(i.mechanism, i.iterations) for i in each.credential_infos]
        for each in answer.results
    }


def test_credentials_are_set_described_and_deleted() -> None:
    bench = MetadataBench()
    wanted = (upsertion("alice"), upsertion("alice", SHA_512, 8192), upsertion("bob"))
    assert alter(bench, *wanted) == {"alice": 0, "bob": 0}
    assert describe(bench) == {"alice": [(SHA_256, 4096), (SHA_512, 8192)], "bob": [(1, 4096)]}
    assert alter(bench, deletions=[ScramCredentialDeletion("alice", SHA_256)]) == {"alice": 0}
    assert describe(bench, "alice") == {"alice": [(SHA_512, 8192)]}
    credential = bench.credentials.scram("alice", ScramMechanism.SCRAM_SHA_512)
    assert credential is not None
    assert credential.is_password("secret")


def test_users_that_cannot_be_described_have_an_error_of_their_own() -> None:
    bench = MetadataBench()
    alter(bench, upsertion("alice"), upsertion("bob"))
    found = describe(bench, "nobody", "bob", "bob", "alice")
    assert found == {"nobody": NOT_FOUND, "bob": DUPLICATE, "alice": [(SHA_256, 4096)]}


def test_each_mistake_has_its_code_and_changes_nothing() -> None:
    bench = MetadataBench()
    outcomes = alter(
        bench,
        upsertion("twice"),
        upsertion("twice"),
        upsertion("weak", iterations=100),
        upsertion("slow", iterations=20_000),
        ScramCredentialUpsertion("strange", 7, 4096, b"salt", bytes(32)),
        upsertion(""),
        upsertion("fine"),
        deletions=[ScramCredentialDeletion("nobody", SHA_256)],
    )
    assert outcomes == {
        "nobody": NOT_FOUND,
        "twice": DUPLICATE,
        "weak": UNACCEPTABLE,
        "slow": UNACCEPTABLE,
        "strange": UNSUPPORTED_MECHANISM,
        "": UNACCEPTABLE,
        "fine": 0,
    }
    assert describe(bench) == {"fine": [(SHA_256, 4096)]}


def test_those_without_a_right_on_the_cluster_are_refused() -> None:
    bench = MetadataBench(
        {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"}
    )
    admin = Principal.user("admin")
    assert alter(bench, upsertion("alice"), who=admin) == {"alice": 0}
    assert alter(bench, upsertion("mallory")) == {"mallory": CLUSTER_REFUSED}
    request = DescribeUserScramCredentialsRequest(None)
    answer = answered(bench, api_50_describe_user_scram_credentials, request, ANONYMOUS)
    assert (answer.error_code, list(answer.results)) == (CLUSTER_REFUSED, [])
    assert bench.credentials.describe(["mallory"]).keys() == {"mallory"}
    assert bench.credentials.scram("mallory", ScramMechanism.SCRAM_SHA_256) is None


def test_disk_that_refuses_fails_every_user() -> None:
    bench = MetadataBench()
    bench.disk.fail_next("write")
    assert alter(bench, upsertion("alice")) == {"alice": STORAGE_ERROR}
    assert describe(bench) == {}
