"""What a listener refuses to start without."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace

import pytest

from headrace.config.broker_security import OAUTHBEARER, SecuritySettings
from headrace.config.listeners import Listener
from headrace.frontends.kafka.listener_security import ListenerSecurity
from headrace.model.errors import PackageNotInstalled

NEED_PYJWT = (
    "headrace.frontends.common.key_set_refresh",
    "headrace.security.key_set_source",
    "headrace.security.token_validation",
)


def test_tokens_without_their_library_name_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jwt", None)
    for module in NEED_PYJWT:
        monkeypatch.delitem(sys.modules, module, raising=False)
    settings = SecuritySettings(
        sasl_enabled_mechanisms=(OAUTHBEARER,),
        sasl_oauthbearer_jwks_endpoint_url="file:///keys.json",
    )
    address = Listener("kafka+sasl", "127.0.0.1", 0, None, security=settings)
    broker = SimpleNamespace(clock=None, metrics=None, credentials=None, chance=None)

    async def build():
        return ListenerSecurity(broker, address)

    with pytest.raises(PackageNotInstalled, match=r"OAUTHBEARER needs PyJWT.*headrace\[security\]"):
        asyncio.run(build())
