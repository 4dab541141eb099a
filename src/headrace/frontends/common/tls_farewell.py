"""The end of a connection whose handshake was refused, such that the client gets to know why.

To close while something of the client is unread resets the connection, and a reset may overtake the
alert: a client of TLS 1.3 takes the handshake for done and sends its first request before its
certificate has been looked at. So after the alert only our side is closed, and what still comes is
read and forgotten until the client closes its own.
"""

from __future__ import annotations

import asyncio
import socket

SECONDS_MAX = 2.0
"""For the client to take the alert and leave; then the connection ends anyway."""
PIECE_BYTES = 16 * 1024


async def send_alert(
    loop: asyncio.AbstractEventLoop, connection: socket.socket, alert: bytes
) -> None:
    """Returns when the client has left, or had its time; closing ``connection`` is the caller's.

    OSError if it was gone before, or takes nothing.
    """
    connection.send(alert)
    connection.shutdown(socket.SHUT_WR)
    try:
        async with asyncio.timeout(SECONDS_MAX):
            while await loop.sock_recv(connection, PIECE_BYTES):
                continue
    except TimeoutError:
        return
