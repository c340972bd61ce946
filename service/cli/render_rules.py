"""Implications of an edit in a terminal: leaks, stale facts, due conclusions.

A list of rules as `thinkeval rules` prints it: a table, or a format to paste.

Chains over facts and conclusions together in a terminal.

The implications of several edits in a terminal: one row a method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree

from ..formatting import cell, pluralize
from ..reports import implied
from ..reports.rule_tables import STATISTICS, rules_table, ways_table
from ..rules.implications import GOOD, MEANINGS, implications
from ..rules.omega import OmegaOut, kept_rules, omega
from ..rules.summary import share_text
from ..schemas import MEASURE_NAMES, Measure, Score
from .output import console, emit_panel, emit_rows, emit_table
from .rules_apply import proof_tree

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..rules.implications import ImplicationOut, ImplicationsOut
    from ..rules.mixed_chains import MixedChainOut, MixedLinkOut, MixedPage
    from ..rules.store import StoredRule
    from ..rules.summary import SummaryOut


def show_implied(db: Database, score: Score, measure: Measure, limit: int = 20) -> None:
    """Print the conclusions of the data set's rules for an edit; nothing without rules."""
    rules = kept_rules(db, score.dataset)
    if rules:
        show_omega(omega(db, score, measure, rules), score)
        show_implications(implications(db, score, measure, rules), limit)


def show_omega(found: OmegaOut, score: Score) -> None:
    """Print the recovery of the old object, by chains or rules, with proofs."""
    emit_table(ways_table(found, score.target_true))
    for proof in found.proofs:
        console().print(proof_tree(proof, note="proves the old fact"))


def show_implications(found: ImplicationsOut, limit: int = 20) -> None:
    """Conclusions that lost a premise, that are due now, or follow either way."""
    shown = found.items[:limit] if limit else found.items
    text = Text()
    for item in shown:
        _append(text, item)
    summary = "\n".join(
        f"{name} {share_text(each)}"
        for name, each in (
            ("stale", found.stale),
            ("propagated", found.propagated),
            ("kept", found.kept),
        )
    )
    if any(item.verdict is None for item in found.items):
        summary += "\nWhat was not asked is undefined: ask again with --implications."
    note = f"showing {len(shown)} of {len(found.items)}" if len(shown) < len(found.items) else None
    title = f"Implications by {pluralize(found.rules, 'rule')} ({MEASURE_NAMES[found.measure]})"
    text.append(summary)
    met = {item.verdict for item in shown}
    for verdict, meaning in MEANINGS.items():
        if verdict in met:
            text.append(f"\n{verdict}: {meaning}", "dim")
    emit_panel(title, [text], note=note)


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


def statistics_values(stored: StoredRule) -> list[tuple[str, str]]:
    """The statistics of one rule, as names and values."""
    return [(column.header, cell(column.get(stored))) for column in STATISTICS]


def print_rules(
    title: str, found: Sequence[StoredRule], style: str | None, output: Path | None, json: bool,
    note: str,
) -> None:  # fmt: skip
    """Print rules; to a file where one is given.

    Raises:
        UsageError: a table is to be written to a file.
    """
    from ..rules.schemas import RuleOut

    values = [RuleOut.of(r).model_dump() for r in found]
    listed = rules_table(title, found, note)
    emit_rows(listed, value=values, json=json, format=style, output=output)


def show_mixed(page: MixedPage) -> None:
    """The chains, strongest after the edit first; conclusions with their proofs."""
    out = console()
    out.print(
        f"{page.surviving} of {pluralize(page.looked_at, 'chain')} over conclusions of rules"
        f" {'survives' if page.surviving == 1 else 'survive'}, within"
        f" {pluralize(page.max_steps, 'fact')}, by {pluralize(page.rules, 'rule')}"
        f" ({MEASURE_NAMES[page.measure]})",
        highlight=False,
    )
    for number, item in enumerate(page.items, 1):
        out.print(_tree(number, item))
    if len(page.items) < page.total:
        out.print(f"showing {len(page.items)} of {page.total}", style="dim", highlight=False)


def _tree(number: int, item: MixedChainOut) -> Tree:
    text = Text(f"{number}. ")
    if item.surviving is None:
        text.append("? not probed", "dim")
    else:
        text.append(*(("● survives", "bold red") if item.surviving else ("○ cut", "dim")))
        text.append(
            f"  {pluralize(item.steps or 0, 'fact')}  R {cell(item.r_pre)} → R' {cell(item.r_post)}"
            f"  retention {cell(item.ratio)}"
        )
    text.append(f"\n   {item.entities[0]}", "blue")
    tree = Tree(text, guide_style="dim")
    for link in item.links:
        branch = tree.add(_link(link))
        if link.proof is not None:
            branch.add(proof_tree(link.proof))
    return tree


def _link(link: MixedLinkOut) -> Text:
    text = Text("∴ " if link.implied else "─ ")
    text.append(f"{link.relation} → {link.object}", "bold" if link.implied else "")
    text.append(f"   {cell(link.pre)} → {cell(link.post)}  retention {cell(link.ratio)}")
    if link.implied and link.facts:
        text.append(f"   a conclusion, by {pluralize(link.facts, 'fact')}", "dim")
    return text


def show_implied_by(db: Database, groups: Mapping[str, Sequence[str]], measure: Measure) -> None:
    """Print the conclusions of rules for edits, pooled: a row for each group of their ids."""
    show_summaries(implied.by_group(db, groups, measure))


def show_summaries(found: Mapping[str, SummaryOut]) -> None:
    """By label: stale, propagated and kept with their n; how the old objects are recovered."""
    if found:
        emit_table(implied.table(found))
