"""Sockets and sessions, one package per protocol: translate, never decide."""
