"""`thinkeval rules`: find If-Then rules in a graph, write some, review them, ground them.

This file has the commands that find, add, list and delete rules; `rules_apply` and `rules_review`
have the others.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from ..formatting import cell, pluralize
from ..scoring.runtime import Runtime
from ..settings import Settings
from .options import FormatOption, JsonFlag, OutputOption
from .output import emit_json, emit_values
from .progress import ProgressBars
from .render_rules import print_rules, statistics_values
from .rules_apply import (
    GraphArgument,
    closure,
    instantiate,
    print_groundings,
    relations,
)
from .rules_review import review

rules = typer.Typer(
    no_args_is_help=True,
    help=(
        "If-Then rules of a data set: one or two premises and a conclusion that follows.\n\n"
        "[bold]mine[/bold] finds candidates in a graph's own triangles, [bold]add[/bold] reads"
        " hand-written ones, [bold]review[/bold] lets two annotators decide which are kept;"
        " [bold]instantiate[/bold] shows what a rule says of a graph, and [bold]closure[/bold]"
        " all that follows."
    ),
)

DatasetArgument = Annotated[
    str, typer.Argument(help="Id of a graph: a data set, or one derived from it.")
]
RuleArgument = Annotated[str, typer.Argument(help="Id of a rule, or the start of it.")]


class RankName(StrEnum):
    """Order of rules."""

    LOWER = "lower"
    SUPPORT = "support"


class StatusName(StrEnum):
    """The rules that are listed."""

    all = "all"
    candidate = "candidate"
    kept = "kept"
    rejected = "rejected"


RankOption = Annotated[
    RankName,
    typer.Option(
        help="First: the greatest lower bound of the confidence (lower), or the most groundings"
        " whose conclusion the graph has (support)."
    ),
]


@rules.command()
def mine(
    graph: GraphArgument,
    min_support: Annotated[
        int, typer.Option(min=1, help="Groundings at least whose conclusion the graph has.")
    ] = 2,
    min_confidence: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share at least of the premises' groundings with it."),
    ] = 0.0,
    limit: Annotated[int, typer.Option(min=1, help="Rules at most, by support.")] = 1000,
    typed: Annotated[
        bool, typer.Option(help="Restrict a variable to the kind that all its entities share.")
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store nothing.")] = False,
    rank: RankOption = RankName.LOWER,
    format: FormatOption = None,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """Find rules in a graph: three facts that form a triangle suggest a rule for each of them.

    [dim]support[/dim]: groundings whose conclusion the graph has; [dim]body[/dim]: groundings of
    the premises; [dim]confidence[/dim]: their ratio. The next columns count a conclusion once:
    [dim]known[/dim] of [dim]conclusions[/dim]; [dim]lower[/dim]: lower end of the 95 % Wilson
    interval of their ratio; [dim]PCA[/dim]: the ratio over conclusions whose subject has any fact
    of the relation; [dim]coverage[/dim]: fraction of the relation's facts that the rule gives.
    What is found is stored as candidates: `rules review` decides which are kept. Mining again
    renews the counts and changes no decision.
    """
    from ..graphs import datasets
    from ..rules import mining, statistics, store

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, graph)
        mined = mining.mine(
            runtime.db, graph, min_support=min_support, min_confidence=min_confidence, limit=limit,
            typed=typed, store=not dry_run,
        )  # fmt: skip
        stored = (
            {}
            if dry_run
            else {r.id: r for r in store.rules_of(runtime.db, mined.dataset, status=None)}
        )
        found = statistics.counted(
            runtime.db, graph,
            [
                stored.get(r.id) or store.StoredRule(r.id, mined.dataset, r, "candidate")
                for r in mined.rules
            ],
        )  # fmt: skip
    found = statistics.ranked(found, rank.value)
    left_out = mined.total - len(found)
    note = f"{pluralize(len(found), 'rule')} with support ≥ {min_support}" + (
        f" and confidence ≥ {min_confidence:g}" if min_confidence else ""
    )
    note += f"; {left_out} more left out by the limits" if left_out else ""
    note += "; nothing stored (--dry-run)" if dry_run else f"; {mined.created} of them new"
    print_rules(f"Rules mined from {graph}", found, format, output, json, note)


@rules.command("list")
def list_(
    dataset: DatasetArgument,
    status: Annotated[StatusName, typer.Option(help="Only these.")] = StatusName.all,
    rank: RankOption = RankName.LOWER,
    format: FormatOption = None,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """List a data set's rules, with the columns of `rules mine`.

    Statuses: candidate (mined, not decided yet), kept, rejected.
    """
    from ..rules import statistics, store

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        wanted = None if status is StatusName.all else (status.value,)
        found = store.rules_of(runtime.db, store.dataset_of(runtime.db, dataset), status=wanted)
        found = statistics.ranked(statistics.counted(runtime.db, dataset, found), rank.value)
    note = "" if found else f"none: `thinkeval rules mine {dataset}`, or `rules add`"
    print_rules(f"Rules of {dataset}", found, format, output, json, note)


@rules.command()
def show(dataset: DatasetArgument, rule: RuleArgument, json: JsonFlag = False) -> None:
    """Show one rule: its words, kinds, counts, labels, and a few groundings."""
    from ..rules import groundings, statistics, store
    from ..rules.review import LABELS
    from ..rules.schemas import GroundingOut, RuleOut

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = store.rule_of(runtime.db, store.dataset_of(runtime.db, dataset), rule)
        (found,) = statistics.counted(runtime.db, dataset, [found])
        grounded = groundings.instantiate(runtime.db, dataset, [found], limit=5)
    if json:
        examples = [GroundingOut.of(row, found).model_dump() for row in grounded.groundings]
        emit_json(RuleOut.of(found).model_dump() | {"examples": examples})
        return
    r = found.rule
    emit_values(
        r.text(),
        [("id", found.id), ("status", found.status), ("source", r.source), ("shape", r.shape)]
        + [(f"kind of {v}", kind) for v, kind in r.kinds]
        + [("support", cell(r.support)), ("body", cell(r.body)), ("confidence", cell(r.confidence))]
        + statistics_values(found)
        + [(f"label by {who}", f"{label}: {LABELS[label]}") for who, label in found.labels]  # type: ignore[index]
        + [
            (f"wording of {name}", text)
            for name, atom in zip(
                (*("premise 1", "premise 2")[: len(r.premises)], "conclusion"),
                (*r.premises, r.conclusion),
                strict=True,
            )
            for text in atom.templates
        ],
    )
    print_groundings("For example", grounded)


@rules.command()
def add(
    dataset: DatasetArgument,
    file: Annotated[
        Path,
        typer.Argument(
            help="YAML with `rules:`, each with `if:` (one or two lines such as `person born in"
            " city`) and `then:`; knowledge sets in DepEdit's JSONL, whose rules are taken; or the"
            " name of"
            " rules that ship with ThinkEval."
        ),
    ],
    new_relations: Annotated[
        bool,
        typer.Option("--new-relations", help="Let conclusions have relations that no fact has."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Add hand-written rules; they are kept at once, and counted in the data set.

    \b
    rules:
      - if:
          - person born in city
          - city located in country
        then: person citizen of country
        kinds: {person: person}        # optional, as are words and templates
      - if: person married to other    # one premise: sub-relation, inverse, symmetric
        then: other married to person

    The first and last word of a line are variables, the words between them are the relation.
    """  # noqa: D301
    from ..graphs import datasets
    from ..rules import add as writing
    from ..rules import statistics
    from ..rules.schemas import RuleOut

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, dataset)
        added, created = writing.add_file(runtime.db, dataset, file, new_relations=new_relations)
        added = statistics.counted(runtime.db, dataset, added)
    if json:
        emit_json([RuleOut.of(r).model_dump() for r in added])
        return
    note = f"{pluralize(len(added), 'rule')}, {created} of them new"
    print_rules(f"Added to {dataset}", added, None, None, False, note)


@rules.command()
def delete(
    dataset: DatasetArgument,
    rule: Annotated[list[str] | None, typer.Argument(help="Ids of rules.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All rules of the data set.")] = False,
    json: JsonFlag = False,
) -> None:
    """Delete rules with their labels."""
    from ..rules import store

    if bool(rule) == all_:
        raise UsageError("Which rules?", remedy="Name them by their ids, or give --all.")
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        gone = store.delete(runtime.db, store.dataset_of(runtime.db, dataset), rule or None)
    if json:
        emit_json({"dataset": dataset, "deleted": gone})
    else:
        typer.echo(f"Deleted {pluralize(gone, 'rule')} of {dataset}.")


rules.command()(instantiate)
rules.command()(relations)
rules.command()(review)
rules.command()(closure)
