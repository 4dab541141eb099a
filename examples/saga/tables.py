"""The tables of the three services. Each service creates only its own."""

from __future__ import annotations

from sqlalchemy import Column, Integer, MetaData, Table, Text

orders_metadata = MetaData()
orders = Table(
    "orders",
    orders_metadata,
    Column("order_id", Text, primary_key=True),
    Column("sku", Text, nullable=False),
    Column("quantity", Integer, nullable=False),
    Column("customer", Text, nullable=False),
    Column("cents", Integer, nullable=False),
    Column("state", Text, nullable=False),
)

stock_metadata = MetaData()
shelves = Table(
    "shelves",
    stock_metadata,
    Column("sku", Text, primary_key=True),
    Column("available", Integer, nullable=False),
)
reservations = Table(
    "reservations",
    stock_metadata,
    Column("order_id", Text, primary_key=True),
    Column("sku", Text, nullable=False),
    Column("quantity", Integer, nullable=False),
    Column("state", Text, nullable=False),
)

payment_metadata = MetaData()
accounts = Table(
    "accounts",
    payment_metadata,
    Column("customer", Text, primary_key=True),
    Column("cents", Integer, nullable=False),
)
payments = Table(
    "payments",
    payment_metadata,
    Column("order_id", Text, primary_key=True),
    Column("customer", Text, nullable=False),
    Column("cents", Integer, nullable=False),
    Column("state", Text, nullable=False),
)
