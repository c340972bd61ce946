"""`thinkeval serve` and `thinkeval worker`: the service, and workers on this or another machine."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ..settings import PREFIX, Settings


def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; another than 127.0.0.1 wants a token.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 takes any free one.")
    ] = None,
    root_path: Annotated[
        str | None,
        typer.Option(
            help="Path below which a proxy shows the service, such as /thinkeval; the proxy may"
            " strip it or not."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=0, max=64, help="Worker processes; 0 where workers run elsewhere."),
    ] = None,
) -> None:
    """Serve REST and the web UI; submitted edits are scored by worker processes.

    Open [bold]http://127.0.0.1:8000/[/bold], or submit an edit:

    [bold]curl -s localhost:8000/v1/edits -H 'content-type: application/json'
    -d '{"rewrite": "harry-potter--studied-at", "method": "rome"}'[/bold]

    Accepted edits are durable: after a crash they are scored on the next start. Allow access from
    other machines with --host and THINKEVAL_API_TOKEN. THINKEVAL_MODELS and THINKEVAL_MODEL_DIRS
    name the models that may be loaded, THINKEVAL_IMPORT_DIR the folder for imports.
    `/openapi.json` describes every route.
    """
    given = {"host": host, "port": port, "root_path": root_path, "workers": workers}
    settings = Settings(**{name: value for name, value in given.items() if value is not None})
    from ..api.app import run

    run(settings)


def worker(
    device: Annotated[
        str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ...; one worker a device.")
    ] = None,
) -> None:
    """Score edits from the queue of the database, beside or without a service of this machine.

    Set THINKEVAL_NEO4J_URI to the database the service uses. On Ctrl-C or a crash the current
    edit is requeued.
    """
    if device is not None:
        os.environ[f"{PREFIX}DEVICE"] = device
    from .. import worker as program

    program.main(Settings())
