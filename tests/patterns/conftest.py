"""A PostgreSQL server and a broker for the whole package."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine

from headrace.testing import Broker
from tests.patterns.postgresql import PostgreSQL, find_binaries


@pytest.fixture(scope="package")
def postgresql():
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'psycopg[binary]'")
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("needs PostgreSQL's initdb and pg_ctl: apt-get install postgresql")
    with PostgreSQL(binaries) as server:
        yield server


@pytest.fixture
def engine(postgresql):
    engine = create_engine(postgresql.url)
    yield engine
    engine.dispose()


@pytest.fixture(scope="package")
def broker():
    with Broker({"num.partitions": "3"}) as broker:
        yield broker
