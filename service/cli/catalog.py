"""`thinkeval methods`, `metrics`, `queries`, `doctor`: what there is, and what is missing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from thinkeval import cypher
from thinkeval.service.cli.options import (
    JsonFlag,
    MeasureName,
    MeasureOption,
    emit_json,
    emit_table,
)
from thinkeval.service.cli.progress import ProgressBars
from thinkeval.service.errors import NotFoundError
from thinkeval.service.scoring import metrics as measuring
from thinkeval.service.scoring import record
from thinkeval.service.scoring.runtime import Workbench
from thinkeval.service.settings import Settings


def methods(
    name: Annotated[str | None, typer.Argument(help="Show this method whole.")] = None,
    json: JsonFlag = False,
) -> None:
    """List the editing methods: kind, paper, and the architectures and models they are ready for.

    With a NAME: its hyperparameters too, which `--set key=value` and a file of --hparams may give.
    """
    from thinkeval.editing import hparams
    from thinkeval.editing import methods as registry

    names = [name] if name else list(registry.names())
    infos = [registry.info(n) for n in names]
    ready = {i.name: _architectures(i.name, i.kind) for i in infos}
    if json:
        emit_json(
            [
                {
                    **asdict(i),
                    "architectures": ready[i.name],
                    "hparams": hparams.available(i.name),
                }
                for i in infos
            ]
        )
        return
    if name:
        info = infos[0]
        typer.echo(f"{info.name} ({info.kind}): {info.doc}\n{info.paper}\n")
        typer.echo(f"Architectures: {', '.join(ready[name])}")
        typer.echo(f"Hyperparameter files: {', '.join(hparams.available(name)) or 'none needed'}\n")
        typer.echo(hparams.described(name))
        return
    emit_table(
        "Editing methods",
        ["method", "kind", "what it does", "paper", "architectures", "hyperparameters for"],
        [
            (
                i.name,
                i.kind,
                i.doc,
                i.paper,
                ", ".join(ready[i.name]),
                ", ".join(hparams.available(i.name)),
            )
            for i in infos
        ],
    )


def _architectures(name: str, kind: str) -> list[str]:
    """Those with an adapter, for what changes weights; a prompt can be changed for any model."""
    from thinkeval.editing import architectures

    return ["any decoder"] if kind == "prompt" or name == "none" else list(architectures.names())


def metrics(json: JsonFlag = False) -> None:
    """List the metrics; each is one Cypher file (`thinkeval queries metrics/ifr` prints it)."""
    found = [cypher.query(n) for n in cypher.names("metrics/")]
    if json:
        emit_json(
            [
                {"name": q.name, "doc": q.doc, "better": q.higher_is_better, "source": q.source}
                for q in found
            ]
        )
        return
    emit_table(
        "Metrics",
        ["metric", "better", "what it is", "source"],
        [(q.name.removeprefix("metrics/"), q.higher_is_better, q.summary, q.source) for q in found],
    )


def queries(
    name: Annotated[str | None, typer.Argument(help="Print this query's text.")] = None,
    edit: Annotated[
        str | None, typer.Option(help="With the parameters of this edit, ready for Neo4j Browser.")
    ] = None,
    measure: MeasureOption = MeasureName.likelihood,
    json: JsonFlag = False,
) -> None:
    """List the Cypher queries, or print one to paste into Neo4j Browser.

    [bold]thinkeval queries metrics/ifr --edit EDIT[/bold] prints the parameters too: what the
    Browser then shows is the number of the score.
    """
    if name is not None:
        if name not in cypher.names():
            raise NotFoundError("query", name, cypher.names(), listing="thinkeval queries")
        typer.echo(_text(name, edit, measure))
        return
    found = [cypher.query(n) for n in cypher.names()]
    if json:
        emit_json(
            [
                {
                    "name": q.name,
                    "mode": q.mode,
                    "doc": q.doc,
                    "params": {k: p.type for k, p in q.params.items()},
                    "columns": {k: c.type for k, c in q.columns.items()},
                }
                for q in found
            ]
        )
        return
    emit_table(
        "Queries", ["query", "mode", "what it does"], [(q.name, q.mode, q.summary) for q in found]
    )


def _text(name: str, edit: str | None, measure: MeasureName) -> str:
    if edit is None:
        return cypher.query(name).text.rstrip()
    with ProgressBars() as progress, Workbench(Settings(), progress) as bench:
        score = record.get_score(bench.db, edit)
        return measuring.browser_text(bench.db, score, measure.key, name)


def doctor(json: JsonFlag = False) -> None:
    """Check what a score needs: Python packages, Java runtime, disk, database, device."""
    from thinkeval.service.cli.diagnosis import examine

    findings = examine()
    if json:
        emit_json([asdict(f) for f in findings])
    else:
        emit_table(
            "Doctor",
            ["check", "ok", "found", "what to do"],
            [(f.check, f.ok, f.found, f.remedy) for f in findings],
        )
    if not all(f.ok for f in findings):
        raise typer.Exit(2)
