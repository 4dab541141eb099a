"""Confluent's schema registry as an ASGI application: handlers translate, schemas decides."""
