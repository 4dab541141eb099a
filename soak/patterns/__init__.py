"""The outbox and the saga through kills: every committed row's message once, none without a row.

`python -m soak patterns --kills 100 --database postgresql`.
"""
