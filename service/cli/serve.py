"""`thinkeval serve` and `db`: the service, its workers, and the embedded Neo4j server."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..base.database import embedded_server
from ..base.errors import UsageError
from ..base.settings import PREFIX, Settings
from ..scoring.runtime import Runtime
from .options import EngineOption, JsonFlag, RayAddressOption, given
from .output import ProgressBars, emit_json, emit_note, emit_values


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
    tls_cert: Annotated[
        Path | None, typer.Option(help="PEM file of a certificate: serves https, not http.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file of the certificate's key.")] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=0, max=64, help="Worker processes; 0 where workers run elsewhere."),
    ] = None,
    engine: EngineOption = None,
    ray_address: RayAddressOption = None,
) -> None:
    """Serve the web UI and REST; workers score what is submitted.

    Open [bold]http://127.0.0.1:8000/[/bold], or submit an edit:

    [bold]curl -s localhost:8000/v1/edits -H 'content-type: application/json'
    -d '{"rewrite": "harry-potter--studied-at", "method": "rome"}'[/bold]

    Accepted edits are durable: after a crash they are scored on the next start. Allow access from
    other machines with --host and THINKEVAL_API_TOKEN. THINKEVAL_MODELS and THINKEVAL_MODEL_DIRS
    name the models that may be loaded, THINKEVAL_IMPORT_DIR the folder for imports.
    `/openapi.json` describes every route.
    """
    settings = Settings(
        **given(
            host=host, port=port, root_path=root_path, workers=workers,
            engine=engine, ray_address=ray_address, tls_cert=tls_cert, tls_key=tls_key,
        )
    )  # fmt: skip
    from ..web.app import run

    run(settings)


def worker(
    device: Annotated[
        str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ..., all; one worker a device.")
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


# `thinkeval db`: the embedded Neo4j server.

db = typer.Typer(
    help="Neo4j server, backups, queries; workers, fleet.",
)


def _own_server() -> Settings:
    settings = Settings()
    if settings.neo4j_uri:
        raise UsageError(
            f"THINKEVAL_NEO4J_URI points at {settings.neo4j_uri}, which ThinkEval does not manage.",
            remedy="Unset it to use the embedded server.",
        )
    return settings


@db.command()
def start(json: JsonFlag = False) -> None:
    """Start the server and wait until it answers; no effect if it is running."""
    with ProgressBars() as progress:
        embedded_server(_own_server()).ensure_running(progress)
    _show(json)


@db.command()
def stop(
    force: bool = typer.Option(
        False, "--force", help="Kill it if it does not stop; committed data is safe."
    ),
    json: JsonFlag = False,
) -> None:
    """Stop the server cleanly; stored data is kept."""
    stopped = embedded_server(_own_server()).stop(force=force)
    if json:
        emit_json({"stopped": stopped})
    else:
        emit_note("Neo4j is stopped." if stopped else "Neo4j was not running.")


@db.command()
def repair(json: JsonFlag = False) -> None:
    """Start a database that does not start after a full disk or a crash, after a copy of its data.

    What cannot be read at the end of its transaction log is cut off; everything that was committed
    before stays. The copy is a folder beside the data: delete it once all is well.
    """
    with ProgressBars() as progress:
        done = embedded_server(_own_server()).repair(progress)
    if json:
        emit_json({"copy": str(done.copy), "cut_bytes": done.cut_bytes})
        return
    emit_note(f"The database runs again. The data as they were: {done.copy}")
    if done.cut_bytes:
        emit_note(
            f"{done.cut_bytes:,} bytes were cut off the end of its transaction log: see whether the"
            " results that you stored last are there."
        )


@db.command()
def status(json: JsonFlag = False) -> None:
    """Show the server's addresses and the login for any Neo4j client or the Browser."""
    _show(json)


@db.command()
def user(
    name: Annotated[str, typer.Argument(help="Name of the new user.")],
    password: Annotated[
        str,
        typer.Option(
            prompt=True,
            hide_input=True,
            confirmation_prompt=True,
            envvar="THINKEVAL_NEW_PASSWORD",
            help="At least 8 characters; prompted for if absent.",
        ),
    ],
    json: JsonFlag = False,
) -> None:
    """Create a user for Neo4j Browser, read-only if the server's edition has roles.

    [bold]Neo4j Community has no roles[/bold]: there the user can write as well, which the
    output reports. In Enterprise edition it gets the built-in role reader. Works on the embedded
    server and on the one that THINKEVAL_NEO4J_URI names.
    """
    from ..base.database import create_user

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        made = create_user(runtime.db, name, password)
    if json:
        emit_json(made)
        return
    emit_note(f"Created user {made['user']} ({made['edition']} edition). {made['note']}")


def _show(json: bool) -> None:
    settings = _own_server()
    shown = asdict(embedded_server(settings).status()) | {"database": settings.database_name}
    if json:
        emit_json(shown)
        return
    emit_values("Neo4j", {name: str(value) for name, value in shown.items()})
    if shown.get("running"):
        emit_note(
            f"Open {shown['browser']} and log in as {shown['user']} with the password in"
            f" {shown['password_file']}."
        )
