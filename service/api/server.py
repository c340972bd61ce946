"""Runs the application on a socket: address checked, address told, ended in good order."""

from __future__ import annotations

import socket
import sys
from contextlib import closing

import uvicorn

from thinkeval.service import worker
from thinkeval.service.api.app import create_app
from thinkeval.service.api.security import require_token_elsewhere
from thinkeval.service.errors import UsageError
from thinkeval.service.settings import Settings

GRACE_S = 5
"""How long open event streams may keep the service from ending."""


def run(settings: Settings) -> None:
    """Serve until told to end.

    Raises:
        UsageError: the port is taken, or other machines are let in without a token.
    """
    require_token_elsewhere(settings, settings.host)
    with closing(_listen(settings)) as listener:
        port = listener.getsockname()[1]
        worker.set_up()
        app = create_app(settings)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=GRACE_S,
            server_header=False,
        )
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        shown = "127.0.0.1" if shown in ("0.0.0.0", "[::]") else shown
        print(  # noqa: T201
            f"ThinkEval is at http://{shown}:{port}/ (REST: /v1, /openapi.json). Ctrl-C ends it.",
            file=sys.stderr,
            flush=True,
        )
        uvicorn.Server(config).run(sockets=[listener])


def _listen(settings: Settings) -> socket.socket:
    """The socket, bound before anything is started: a taken port is noticed at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror or error}.",
            remedy="Choose another --port (0 takes any free one) or --host.",
        ) from error
    return listener
