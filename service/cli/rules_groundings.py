"""`thinkeval rules instantiate` and `relations`: what rules say of a graph, and may speak of."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from thinkeval.service.cli.options import (
    CandidatesFlag,
    JsonFlag,
    MeasureName,
    OutputOption,
    RulesOption,
    cell,
    emit_json,
    emit_table,
    require_json,
    several,
)
from thinkeval.service.cli.progress import ProgressBars
from thinkeval.service.errors import UsageError
from thinkeval.service.scoring.runtime import Workbench
from thinkeval.service.settings import Settings

if TYPE_CHECKING:
    from thinkeval.service.rules.groundings import Instances

GraphArgument = Annotated[
    str, typer.Argument(help="Id of a graph: a data set, what a model knows of it, or an edit.")
]


class ShowName(StrEnum):
    """Which groundings are shown."""

    all = "all"
    known = "known"
    predicted = "predicted"


def instantiate(
    graph: GraphArgument,
    rule: RulesOption = None,
    candidates: CandidatesFlag = False,
    show: Annotated[
        ShowName, typer.Option(help="known: the graph has the conclusion; predicted: it lacks it.")
    ] = ShowName.all,
    subject: Annotated[
        str | None,
        typer.Option(help="Only groundings with a fact of this subject …"),
    ] = None,
    relation: Annotated[str | None, typer.Option(help="… and of this relation.")] = None,
    measure: Annotated[
        MeasureName, typer.Option("--measure", help="Which probabilities are shown.")
    ] = MeasureName.likelihood,
    limit: Annotated[int, typer.Option(min=1, help="Groundings at most.")] = 1000,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """Show the groundings of a graph's rules: premises and conclusion, with p before → after.

    A conclusion that the graph lacks is predicted. Without --rule these are the kept rules of the
    graph's data set. [bold]--subject … --relation …[/bold] shows what an edit of that fact touches.
    """
    from thinkeval.service.rules import groundings
    from thinkeval.service.rules.schemas_rules import GroundingOut

    require_json(output, json)
    if (subject is None) != (relation is None):
        raise UsageError(
            "--subject and --relation name one fact together.", remedy="Give both, or neither."
        )
    with ProgressBars() as progress, Workbench(Settings(), progress) as bench:
        chosen = groundings.rules_for(bench.db, graph, ids=rule, candidates=candidates)
        if subject is not None and relation is not None:
            found = groundings.touching(
                bench.db, graph, chosen, subject, relation, measure=measure.key, show=show.value,
                limit=limit,
            )  # fmt: skip
        else:
            found = groundings.instantiate(
                bench.db, graph, chosen, measure=measure.key, show=show.value, limit=limit
            )
    if json:
        shown = [GroundingOut.of(g, found.rules[g.rule]).model_dump() for g in found.groundings]
        emit_json(shown, output)
        return
    print_groundings(f"Groundings in {graph}", found)


def relations(graph: GraphArgument, json: JsonFlag = False) -> None:
    """List a graph's relations and the kinds of its entities: what rules may speak of."""
    from thinkeval.service.graphs import datasets
    from thinkeval.service.rules import store

    with ProgressBars() as progress, Workbench(Settings(), progress) as bench:
        datasets.ensure(bench.db, graph)
        found = store.vocabulary(bench.db, graph)
    if json:
        emit_json({"relations": found.relations, "kinds": found.kinds, "untyped": found.untyped})
        return
    emit_table(f"Relations of {graph}", ["relation", "facts"], sorted(found.relations.items()))
    kinds = sorted(found.kinds.items())
    untyped = "1 entity has" if found.untyped == 1 else f"{found.untyped:,} entities have"
    emit_table(f"Kinds in {graph}", ["kind", "entities"], kinds, note=f"{untyped} no kind")


def print_groundings(title: str, found: Instances) -> None:
    """Print groundings as a table, with what was left out."""
    by_rule: dict[str, int] = {}
    for row in found.groundings:
        by_rule[row.rule] = by_rule.get(row.rule, 0) + 1
    from thinkeval.service.rules.schemas_rules import GroundingOut

    shown = [GroundingOut.of(row, found.rules[row.rule]) for row in found.groundings]

    def said(part: object) -> str:
        text = f"{part.subject} {part.relation} {part.object}"  # type: ignore[attr-defined]
        before, after = part.pre, part.post  # type: ignore[attr-defined]
        if before is None and after is None:
            return text
        return f"{text} ({cell(before)}{'' if after is None else f' → {cell(after)}'})"

    emit_table(
        title,
        ["rule", "premise 1", "premise 2", "conclusion", "known"],
        [
            (g.rule, said(g.premises[0]), said(g.premises[1]), said(g.conclusion), g.known)
            for g in shown
        ],
        note=f"{several(len(shown), 'grounding')} of {several(len(found.rules), 'rule')}"
        + ("; more are left out by --limit" if found.cut else ""),
    )
