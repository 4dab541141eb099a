"""One HTTP listening socket: ``/metrics`` for Prometheus, ``/health`` for supervisors, and behind
them the schema registry.

It runs in the broker's own loop; a scrape is a few milliseconds, and what takes longer runs in a
thread. The libraries are loaded only when an HTTP listener is asked for.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

from headrace.model.errors import AddressInUse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from headrace.frontends.http.basic_log_in import BasicLogIn

BACKLOG = 128
HEADER_BYTES_MAX = 32 * 1024
"""Request line and headers together; a subject may take 6 kB of it."""
KEEP_ALIVE_SECONDS = 15
STOP_SECONDS_MAX = 2

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class HttpListener:
    """Serves a few pages of its own, and hands all other paths on to ``application``."""

    def __init__(
        self,
        host: str,
        port: int,
        render_metrics: Callable[[], bytes],
        application: ASGIApp | None = None,
        log_in: BasicLogIn | None = None,
    ) -> None:
        """Without ``log_in`` everybody is served."""
        self.host = host
        self.port = port
        self._render_metrics = render_metrics
        self._behind = application
        self._log_in = log_in
        self._server: Any = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Bind and serve."""
        import uvicorn

        from headrace.frontends.http.guarded_connection import GuardedConnection

        bound = self._bind()
        self.port = bound.getsockname()[1]
        config = uvicorn.Config(
            self._application(),
            http=GuardedConnection,
            ws="none",
            log_config=None,
            log_level="error",  # what clients do wrong is answered, not logged
            access_log=False,
            lifespan="off",
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=HEADER_BYTES_MAX,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS_MAX,
        )
        self._server = uvicorn.Server(config)
        # Signals belong to the launcher: `_serve` is `serve` without taking them over.
        self._task = asyncio.create_task(self._server._serve(sockets=[bound]), name="http")
        while not self._server.started and not self._task.done():  # noqa: ASYNC110 (it has no event)
            await asyncio.sleep(0.001)

    def _bind(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((self.host, self.port))
            bound.listen(BACKLOG)
        except OSError as error:
            bound.close()
            raise AddressInUse(
                f"cannot listen on {self.host}:{self.port}: {error.strerror or error}; "
                f"stop the other process or choose another port with --listen"
            ) from error
        return bound

    def _application(self) -> ASGIApp:
        from starlette.applications import Starlette
        from starlette.requests import Request  # noqa: TC002 (the framework reads annotations)
        from starlette.responses import PlainTextResponse, Response
        from starlette.routing import Route

        from headrace.frontends.http.gate import Gate

        async def metrics(request: Request) -> Response:
            return Response(self._render_metrics(), media_type=CONTENT_TYPE)

        async def health(request: Request) -> Response:
            return PlainTextResponse("ok\n")

        own = {"/metrics": metrics, "/health": health}
        pages = Starlette(routes=[Route(path, page) for path, page in own.items()])
        behind = self._behind or pages

        async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
            await (pages if scope["path"] in own else behind)(scope, receive, send)

        return dispatch if self._log_in is None else Gate(dispatch, self._log_in)

    async def stop(self) -> None:
        """Finish what is being answered, then close."""
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task
