"""`thinkeval rules review`: list rules without a label, label them, report agreement."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from ..formatting import cell, several
from ..scoring.runtime import Runtime
from ..settings import Settings
from .options import JsonFlag
from .output import emit_json, emit_table
from .progress import ProgressBars
from .render_rules import RULES

if TYPE_CHECKING:
    from ...cypher.run import Database


def review(
    dataset: Annotated[str, typer.Argument(help="Id of a graph: a data set.")],
    annotator: Annotated[str | None, typer.Option("--annotator", "-a", help="Who labels.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="RULE=a", help="A rule's label, a to e; repeatable."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rules shown or asked for.")] = 50,
    json: JsonFlag = False,
) -> None:
    """Label rules by plausibility; two annotators decide.

    \b
    Given the premises, the conclusion …
      a  must be true
      b  likely to be true
      c  unlikely to be true
      d  must be false
      e  the premises are of no use for the conclusion

    A rule is kept if both gave a or b, and rejected otherwise. Judge the step from the premises to
    the conclusion, not whether either is true. Without --label the rules that wait are listed;
    with --annotator, at a terminal, they are asked for one by one. Agreement is reported as the
    fraction of equal labels and as Gwet's AC1.
    """  # noqa: D301
    from ..rules import review as agreement
    from ..rules import review as reviewing
    from ..rules import store
    from ..rules.schemas import RuleOut

    given = [_parsed(each) for each in label or []]
    if given and annotator is None:
        raise UsageError("Labels need a name.", remedy="Add --annotator NAME.")
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        of = store.dataset_of(runtime.db, dataset)
        for rule, said in given:
            reviewing.label(runtime.db, of, rule, annotator or "", said)
        if annotator and not given and not json and sys.stdin.isatty():
            progress.__exit__(None, None, None)
            _ask(runtime.db, of, annotator, limit)
        waiting = reviewing.waiting(runtime.db, of, annotator)
        agreed = agreement.agreement(store.rules_of(runtime.db, of, status=None))
    if json:
        listed = [RuleOut.of(rule).model_dump() for rule in waiting[:limit]]
        emit_json({"waiting": listed, "total": len(waiting), "agreement": agreed.model_dump()})
        return
    whose = f" by {annotator}" if annotator else ""
    emit_table(
        f"Rules of {of} that wait for a label{whose}",
        [column for column in RULES if column.header not in ("body", "status")],
        waiting[:limit],
        note=f"{len(waiting)} wait{whose}"
        + (f", the first {limit} are shown" if len(waiting) > limit else "")
        + (". thinkeval rules review DATASET --annotator NAME --label RULE=a" if waiting else ""),
    )
    typer.echo(
        f"Agreement over {several(agreed.n, 'rule')} with two labels or more: a to e:"
        f" raw {cell(agreed.raw)}, AC1 {cell(agreed.ac1)};"
        f" plausible or not: raw {cell(agreed.raw_plausible)}, AC1 {cell(agreed.ac1_plausible)}."
    )


def _parsed(text: str) -> tuple[str, str]:
    rule, mark, said = text.rpartition("=")
    if not mark or not rule.strip():
        raise UsageError(f"{text!r} is no label of a rule.", remedy="Write RULE=a, with a to e.")
    return rule.strip(), said.strip()


def _ask(db: Database, dataset: str, annotator: str, limit: int) -> None:
    """One rule after the other, with a grounding to think of; stops at q."""
    from ..rules import groundings
    from ..rules import review as reviewing

    for key, meaning in reviewing.LABELS.items():
        typer.echo(f"  {key}  {meaning}")
    typer.echo("  s  skip it, q  stop")
    for rule in reviewing.waiting(db, dataset, annotator)[:limit]:
        typer.echo(f"\n{rule.rule.text()}")
        for found in groundings.instantiate(db, dataset, [rule], limit=2).groundings:
            at = (("x", found.x), ("y", found.y), ("z", found.z))
            said = ", ".join(f"[{rule.rule.word(variable)}] {name}" for variable, name in at)
            typer.echo(f"  e.g. {said}")
        said = ""
        while said not in (*reviewing.LABELS, "s", "q"):
            said = typer.prompt("a–e, s, q").strip().lower()
        if said == "q":
            return
        if said != "s":
            typer.echo(f"→ {reviewing.label(db, dataset, rule.id, annotator, said).status}")
