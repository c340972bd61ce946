"""Terminal output of scores, chains, leaking facts and CounterFact metrics."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text

from ..formatting import (
    UNDEFINED,
    cell,
    number,
    objects,
    pluralize,
)
from ..reports.conversation_lines import conversation_table
from ..reports.edit import leakage_table
from ..reports.formats import Column, Table, indexed
from ..reports.score_lines import ScoreLine, lines, metric_text
from ..schemas import MEASURE_NAMES, Measure, MetricValue, Score
from ..scoring.chat_choice import way_of
from ..scoring.generation import MEASURE as TEXT
from ..scoring.metrics import chain_rows, leakage_rows
from .output import console, emit_note, emit_panel, emit_table

if TYPE_CHECKING:
    from ...cypher.rows.chains import Link
    from ...cypher.run import Database


def show_score(score: Score) -> None:
    """The score of one edit: the headline metrics by measure, then IFR by steps.

    Of an appended answer, its additivity instead of lines about an old fact.
    """
    columns: list[Column[ScoreLine]] = [
        Column("metric", lambda line: line.label),
        *(
            Column(MEASURE_NAMES[measure], partial(_value, i))
            for i, measure in enumerate(score.measures)
        ),
        Column("n", lambda line: line.n),
        Column("not known", lambda line: line.excluded, optional=1),
    ]
    note = (
        f"edit {score.edit}, {score.method} on {score.model}"
        + (", stored earlier" if score.reused else "")
        + f"; {score.options.rule_text}" * (score.options.rule == "papers")
    )
    title = (
        f"{score.subject}:"
        f" {objects(score.target_true, score.target_new, appends=score.kind == 'append')}"
    )
    emit_table(Table("score", title, columns, lines(score), note))
    if "chat_chosen" in score.provenance and (way := way_of(score.provenance)):
        console().print(way, highlight=False)
    if score.conversation is not None:
        emit_table(conversation_table(score.conversation))
    if score.kind == "append":
        _show_additivity(score)
        return
    overall = score.get("ifr", score.measures[0])
    if overall is not None and overall.n == 0:
        why = overall.reason or "no chain counts; 0 is the papers' definition"
        emit_note(f"IFR says nothing about the edit: {why}.", "dim")


def _show_additivity(score: Score) -> None:
    """Print what the appended answer moved: a line a set of false answers; then ES, GS and LS."""
    from ..reports.appended import NO_OLD_FACT, OF_SUCCESS, additivity, successes  # numpy

    emit_table(additivity(score))
    shown = [f"{title} {metric_text(value)} (n = {value.n})" for title, value in successes(score)]
    console().print(f"{', '.join(shown)}. {OF_SUCCESS}", highlight=False)
    console().print(NO_OLD_FACT, highlight=False)


def _value(place: int, line: ScoreLine) -> str:
    return line.cell(place)


def show_chains(
    db: Database,
    score: Score,
    measure: Measure,
    *,
    surviving: bool = False,
    steps: int | None = None,
    limit: int = 20,
) -> None:
    """The chains in their order: entities, relations, p_pre → p_post, retention."""
    rows = chain_rows(db, score, measure, surviving=surviving, steps=steps)
    shown = rows[:limit] if limit else rows
    alive = sum(r.surviving for r in rows)
    blocks: list[Text] = []
    for i, row in enumerate(shown, 1):
        text = Text()
        mark = ("● survives", "bold red") if row.surviving else ("○ cut", "dim")
        text.append(f"{i}. ")
        text.append(*mark)
        text.append(
            f"  {pluralize(row.steps, 'fact')}  R {number(row.r_pre)} → R' {number(row.r_post)}"
            f"  retention {cell(row.ratio)}\n"
        )
        text.append(f"   {row.entities[0]}\n", "blue")
        for link in row.links:
            text.append(f"{_link_text(link)}\n")
        blocks.append(text)
    title = (
        f"{alive} of {pluralize(len(rows), 'chain')} survive{'s' * (alive == 1)}"
        if not surviving
        else pluralize(len(rows), "surviving chain")
    ) + f" ({MEASURE_NAMES[measure]})"
    note = f"showing {len(shown)} of {len(rows)}" if len(shown) < len(rows) else None
    emit_panel(title, blocks or [Text("none")], note=note)


PANEL_EDGE = 4
"""Characters that the frame of a panel takes of a line."""


def _link_text(link: Link) -> str:
    """A fact of a chain with its probabilities; parts that do not fit a line are indented."""
    out = console()
    text = (
        f"─ {link.relation} → {link.object}   {number(link.pre)} → {number(link.post)}"
        f"  retention {cell(link.ratio)}"
    )
    if out.soft_wrap:
        return f"     {text}"
    return textwrap.fill(
        text, out.width - PANEL_EDGE, initial_indent=" " * 5, subsequent_indent=" " * 9,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def show_leakage(db: Database, score: Score, measure: Measure, limit: int = 10) -> None:
    """Print the facts that carry most surviving chains: candidates for the next edit."""
    emit_table(leakage_table(leakage_rows(db, score, measure)[:limit]))


ROWS = ("efficacy", "generalization", "specificity")


def show_counterfact(score: Score) -> None:
    """CounterFact's scores with their magnitudes, then fluency and consistency."""

    def row(label: str, values: Sequence[MetricValue | None], texts: Iterable[str]) -> list[object]:
        return [label, *texts, max((value.n for value in values if value), default=0)]

    rows = []
    for name in ROWS:
        scores = [score.get(f"{name}_score", measure) for measure in score.measures]
        margins = [score.get(f"{name}_magnitude", measure) for measure in score.measures]
        rows.append(row(name, scores, map(_pair, scores, margins)))
    whole = [score.get("counterfact_score", measure) for measure in score.measures]
    rows.append(row("Score S", whole, map(_measured, whole)))
    note = (
        "Score: fraction of prompts where the right object is the likelier one (magnitude:"
        " mean margin); S is the harmonic mean of the three. The paper's own measure is the"
        " length-normalised one."
    )
    title = "As CounterFact measures it: score (magnitude)"
    columns = indexed("metric", *(MEASURE_NAMES[measure] for measure in score.measures), "prompts")
    emit_table(Table("counterfact", title, columns, rows, note))
    if (line := _written(score)) is not None:
        console().print(line, highlight=False)


def _written(score: Score) -> str | None:
    """Fluency and consistency in a line; None where nothing was generated."""
    before, after = (score.get(f"fluency{side}", TEXT) for side in ("_pre", ""))
    if before is None or after is None:
        return None
    line = f"Fluency {number(before.value)} → {number(after.value)} bits over {after.n} texts"
    before, after = (score.get(f"consistency{side}", TEXT) for side in ("_pre", ""))
    if before is None or after is None or not after.n:
        return f"{line}; consistency needs reference texts, and the rewrite has none."
    texts = f"{after.n} reference text{'s' if after.n > 1 else ''}"
    return f"{line}; consistency {number(before.value)} → {number(after.value)} with {texts}."


def _pair(score: MetricValue | None, magnitude: MetricValue | None) -> str:
    return f"{_measured(score)} ({_measured(magnitude)})" if score and score.n else UNDEFINED


def _measured(value: MetricValue | None) -> str:
    return number(value.value if value and value.n else None)
