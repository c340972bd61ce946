"""How an edit's implications look in a terminal: what leaks, what is stale, what is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.text import Text

from thinkeval.service.cli.options import cell, console, emit_table, several
from thinkeval.service.cli.rules_apply import proof_tree
from thinkeval.service.rules.implications import implications
from thinkeval.service.rules.omega import KINDS, WAYS, OmegaOut, kept_rules, omega
from thinkeval.service.rules.shares import share_text
from thinkeval.service.rules.verdicts import GOOD, MEANINGS
from thinkeval.service.schemas import MEASURE_NAMES, Measure, Score

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.rules.verdicts import ImplicationOut, ImplicationsOut


def show_implied(db: Database, score: Score, measure: Measure, limit: int = 20) -> None:
    """What the data set's rules say of an edit; nothing where it has none."""
    rules = kept_rules(db, score.dataset)
    if rules:
        show_omega(omega(db, score, measure, rules), score)
        show_implications(implications(db, score, measure, rules), limit)


def show_omega(told: OmegaOut, score: Score) -> None:
    """Whether the old object comes back, by what, and the proofs of it."""
    rows = [
        [WAYS[kind], told.at(kind).chains, told.at(kind).surviving, told.deep[kind]]
        for kind in KINDS
    ]
    emit_table(
        f"Does {score.target_true} come back? ({MEASURE_NAMES[told.measure]})",
        ["by", "ways", "surviving", "deep-edited up to n facts"],
        rows,
        note=f"within {several(told.max_steps, 'fact')}, by {several(told.rules, 'rule')}",
    )
    for proof in told.proofs:
        console().print(proof_tree(proof, note="proves the old fact"))


def show_implications(told: ImplicationsOut, limit: int = 20) -> None:
    """Conclusions that lost a premise, that are due now, or follow either way."""
    shown = told.items[:limit] if limit else told.items
    text = Text()
    for item in shown:
        _append(text, item)
    summary = "\n".join(
        f"{name} {share_text(each)}"
        for name, each in (("stale", told.stale), ("taken up", told.taken_up), ("kept", told.kept))
    )
    if any(item.verdict is None for item in told.items):
        summary += "\nWhat was not asked is undefined: score it again with --implications."
    note = f"showing {len(shown)} of {len(told.items)}" if len(shown) < len(told.items) else None
    title = f"Implications by {several(told.rules, 'rule')} ({MEASURE_NAMES[told.measure]})"
    text.append(summary)
    met = {item.verdict for item in shown}
    for verdict, meaning in MEANINGS.items():
        if verdict in met:
            text.append(f"\n{verdict}: {meaning}", "dim")
    console().print(Panel(text, title=title, title_align="left", subtitle=note))


def _append(text: Text, item: ImplicationOut) -> None:
    good = item.verdict in GOOD
    mark = item.verdict or "not asked"
    style = "dim" if item.verdict in (None, "not known") else "green" if good else "bold red"
    text.append(f"{item.side}: ", "dim")
    text.append(mark, style)
    text.append(f"  {item.subject} {item.relation} {item.object}", "blue")
    text.append(f"   {cell(item.pre)} → {cell(item.post)}\n")
    for grounding in item.groundings:
        text.append(f"     {grounding.text}\n", "italic dim")
        for each in grounding.premises:
            edited = f"  (edited, {grounding.form})" if each.edited else ""
            text.append(
                f"       {each.subject} {each.relation} {each.object}"
                f"   {cell(each.pre)} → {cell(each.post)}{edited}\n"
            )
