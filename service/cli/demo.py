"""`thinkeval demo`: the whole story on a graph of our own; no weights are downloaded."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from thinkeval.service.cli import demo_old as story
from thinkeval.service.cli.options import JsonFlag, console, emit_json, emit_table
from thinkeval.service.cli.progress import ProgressBars
from thinkeval.service.cli.render import show_chains, show_leakage, show_method_table, show_score
from thinkeval.service.scoring.runtime import Workbench
from thinkeval.service.settings import Settings


def demo(
    model: Annotated[
        str,
        typer.Option(help="Hub name or local path of a model instead of the small trained one."),
    ] = "organism",
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="Editing method; repeatable; default: all."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the small model, sampling and editing.")] = 0,
    samples: Annotated[int, typer.Option(help="Sampled answers a prompt.")] = 5,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda ...")] = None,
    json: JsonFlag = False,
) -> None:
    """Edit "Harry Potter studied at Hogwarts" to Ilvermorny and see what still gives Hogwarts away.

    Starts Neo4j, loads a graph of Harry Potter's school, trains a small model on its facts (or
    takes yours), asks it, edits it by each method, asks again, and prints efficacy, IFR and
    Preservation, and the chains through which the old fact survives. The first time fetches Neo4j
    (about 150 MB) and trains for a minute or two; everything is cached after that.
    """
    began = time.perf_counter()
    settings = Settings() if device is None else Settings(device=device)
    with ProgressBars() as progress, Workbench(settings, progress) as bench:
        told = story.tell(bench, model=model, methods=method, seed=seed, samples=samples)
        if json:
            emit_json(
                {
                    "scores": [s.model_dump() for s in told.scores],
                    "failed": [{"method": m, "reason": r} for m, r in told.failed],
                    "stages": told.seconds,
                    "seconds": round(time.perf_counter() - began, 2),
                }
            )
            return
        out = console()
        shown = told.shown
        for measure in told.shown.measures[:2]:
            show_method_table(told.scores, measure)
        show_score(shown)
        show_chains(bench.db, shown, "likelihood", surviving=True, limit=5)
        show_leakage(bench.db, shown, "likelihood", limit=5)
        if told.failed:
            emit_table("Methods that gave no score", ["method", "reason"], told.failed)
        emit_table("Seconds by stage", ["stage", "s"], list(told.seconds.items()))
        out.print(
            f"{time.perf_counter() - began:.1f} s in all. IFR 1 would mean that the old fact is as"
            " deducible as before the edit, 0 that no chain gives it away; Preservation 1 that the"
            " facts around it are untouched.\n"
            f"Next: `thinkeval chains {shown.edit} --surviving`, `thinkeval report`,"
            f" or open {story.browser_address(bench)} and paste what"
            f" `thinkeval queries chains/scored --edit {shown.edit}` prints."
        )
