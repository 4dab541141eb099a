"""The test kit that ships with Headrace: a real broker in your test, and simulated twins of the
outside.

``Broker`` is loaded when first used: the pytest plugin of this package is active in every run of
pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.testing.broker import Broker

__all__ = ["Broker"]


def __getattr__(name: str) -> Any:
    if name == "Broker":
        from headrace.testing.broker import Broker

        return Broker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
