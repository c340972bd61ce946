"""`thinkeval rules review`: list rules that wait, store labels, report agreement."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import UsageError
from ..formatting import cell, pluralize
from ..reports.formats import Table
from ..reports.rule_tables import RULES
from ..scoring.runtime import Runtime
from ..settings import Settings
from .options import JsonFlag
from .output import emit_json, emit_table
from .progress import ProgressBars


def review(
    dataset: Annotated[str, typer.Argument(help="Id of a graph: a data set.")],
    annotator: Annotated[str | None, typer.Option("--annotator", "-a", help="Who labels.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="RULE=a", help="A rule's label, a to e; repeatable."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rules shown.")] = 50,
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
    page /rules of [bold]thinkeval serve[/bold] has them as a queue, with examples. Agreement is
    reported as the fraction of equal labels and as Gwet's AC1.
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
        waiting = reviewing.waiting(runtime.db, of, annotator)
        agreed = agreement.agreement(store.rules_of(runtime.db, of, status=None))
    if json:
        listed = [RuleOut.of(rule).model_dump() for rule in waiting[:limit]]
        emit_json({"waiting": listed, "total": len(waiting), "agreement": agreed.model_dump()})
        return
    whose = f" by {annotator}" if annotator else ""
    note = (
        f"{len(waiting)} wait{whose}"
        + (f", the first {limit} are shown" if len(waiting) > limit else "")
        + (". thinkeval rules review DATASET --annotator NAME --label RULE=a" if waiting else "")
    )
    title = f"Rules of {of} that wait for a label{whose}"
    columns = [column for column in RULES if column.header not in ("body", "status")]
    emit_table(Table("waiting", title, columns, waiting[:limit], note))
    typer.echo(
        f"Agreement over {pluralize(agreed.n, 'rule')} with two labels or more: a to e:"
        f" raw {cell(agreed.raw)}, AC1 {cell(agreed.ac1)};"
        f" plausible or not: raw {cell(agreed.raw_plausible)}, AC1 {cell(agreed.ac1_plausible)}."
    )


def _parsed(text: str) -> tuple[str, str]:
    rule, mark, said = text.rpartition("=")
    if not mark or not rule.strip():
        raise UsageError(f"{text!r} is no label of a rule.", remedy="Write RULE=a, with a to e.")
    return rule.strip(), said.strip()
