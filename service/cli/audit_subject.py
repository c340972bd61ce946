"""`thinkeval lab audit-subject`: all that a model knows of a subject, before and after a change."""

from __future__ import annotations

from pathlib import Path
from shlex import join
from typing import Annotated

import typer

from ...loaders.records import Fact
from ..base.errors import NothingStoredError
from ..base.formatting import pluralize
from ..base.settings import Settings
from ..growth.schemas import CrawlOptions, EndpointIn
from ..reports.formats import Column, Table
from ..scoring.runtime import Runtime
from ..states.kind import COMPARISON
from ..states.schemas import ComparisonIn
from ..states.spec import listed, parse, parse_sequence
from .crawl import crawl_request
from .experiments import Printed, emit_result, prints
from .options import ModelOption
from .output import ProgressBars, emit_command, emit_json, emit_note, emit_table

FORGET_SET: list[Column[Fact]] = [
    Column("relation", lambda fact: fact.relation),
    Column("object", lambda fact: fact.object),
    Column("prompt", lambda fact: fact.prompt.replace("{}", fact.subject)),
]


@prints
def audit_subject(
    subject: Annotated[str, typer.Argument(help="Entity whose facts the model shall forget.")],
    graph: Annotated[
        str, typer.Option("--graph", "-g", help="Graph that gives relations and spellings.")
    ] = "world",
    model: ModelOption = "smollm2",
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            help="The model after the change, as `compare` takes it; repeatable; a folder of"
            " checkpoints is each of them.",
        ),
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="Steps from the subject that are asked.")] = 2,
    folder: Annotated[
        Path | None,
        typer.Option("--audit", help="Write the audit of the states to this new folder."),
    ] = None,
    *,
    printed: Printed,
) -> None:
    """Audit the forgetting of a subject: crawl, choose the forget set, compare, write the audit.

    First the model is asked what it knows around the subject; what it knows of the subject itself
    is the forget set, and the rest are routes that may still lead to it. With [bold]--state[/bold]
    the model after the change is compared with it: which facts are forgotten, which chains still
    lead to them, what else changed. Each stage is stored: the same command again begins where it
    stopped, and with a state it asks for nothing twice.

    [bold]thinkeval lab audit-subject Paris --model smollm2[/bold]
    [bold]thinkeval lab audit-subject Paris --model smollm2 --state ./unlearnt --audit paris[/bold]
    """
    from ..graphs import datasets
    from ..growth import control
    from ..growth.crawl import Names
    from ..growth.elicit import start_entities
    from ..states.audit_page import PAGE, export
    from ..states.compare import compare

    crawl = crawl_request(graph, subject, EndpointIn(model=model), CrawlOptions(depth=depth))
    with ProgressBars(lines=True) as progress, Runtime(Settings(), progress) as runtime:
        db = runtime.db
        grown = control.grow(runtime, crawl)
        has_facts = grown.iterations and grown.iterations[-1].triplets
        facts = datasets.stored_graph(db, grown.graph).facts if has_facts else ()
        base_graph = datasets.content(db, graph)
        (start,) = start_entities(base_graph, Names(base_graph.entities), crawl)
        known = [fact for fact in facts if fact.subject == start]
        forget = [f"{fact.subject}|{fact.relation}|{fact.object}" for fact in known]
        nothing = f"The model knows nothing of {subject}. "
        if state and not known:
            raise NothingStoredError(nothing, remedy="Begin with another entity of the graph.")
        if not printed.json:
            others = pluralize(len(facts) - len(known), "further fact")
            note = f"In the graph {grown.graph}: {others} around it." if known else nothing
            emit_table(Table("forget", f"The model knows of {subject}", FORGET_SET, known, note))
        if not state:
            if printed.json:
                about = {"run": grown.id, "graph": grown.graph, "facts": len(facts)}
                emit_json(about | {"forget": forget})
            elif known:
                emit_note("Change the model, for example fact by fact, then name it by --state:")
                words = ["score", "-g", grown.graph, "--model", model, "-m", "npo"]
                emit_command(join(["thinkeval", *words, "--forget", forget[0]]))
            return
        base = parse(model)
        found = compare(
            runtime,
            ComparisonIn(
                base=base,
                states=parse_sequence(base, listed(state)),
                graph=grown.graph,
                forget=forget,
                samples=0,
            ),
        )
        emit_result(db, COMPARISON, found, printed)
        if folder is not None:
            verdict = export(db, found.id, folder)["verdict"]
            if not printed.json:
                emit_note(verdict["headline"], "bold")
                emit_note(str(folder / PAGE))
