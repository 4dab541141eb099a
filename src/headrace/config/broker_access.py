"""Broker options about access control: whether rules are enforced, and on whom they are not."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config import declare
from headrace.config.declare import HIGH, LOW

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@dataclass(frozen=True, kw_only=True)
class AccessSettings:
    """Part of ``BrokerConfig``."""

    authorizer_class_name: str = declare.text(
        "authorizer.class.name",
        "",
        f"{STANDARD_AUTHORIZER} enforces access rules (ACLs); empty lets everybody do everything.",
        choices=("", STANDARD_AUTHORIZER),
        importance=LOW,
    )
    super_users: str = declare.text(
        "super.users",
        "",
        "Principals that may do everything, such as User:admin;User:CN=ops,O=example.",
        importance=HIGH,
    )
    allow_everyone_if_no_acl_found: bool = declare.boolean(
        "allow.everyone.if.no.acl.found",
        False,
        "Whether a resource that no access rule covers is open to everybody.",
    )
