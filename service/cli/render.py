"""Terminal output of scores, chains and leaking facts, and tables over several edits."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ...cypher.metric_options import interval_titles
from ..base.formatting import (
    UNDEFINED,
    cell,
    number,
    objects,
    pluralize,
    with_interval,
)
from ..models.edit import MEASURE_NAMES, Measure, MetricValue, Score
from ..reports.checks import checks_table
from ..reports.edit import ScoreLine, conversation_table, leakage_table, lines, metric_text
from ..reports.formats import Column, Table, indexed
from ..reports.forms import answers_table, forms_table, tables_over_edits
from ..reports.table import (
    STEPS,
    by_rank,
    caption,
    caption_each,
    caption_in_brief,
    method_table,
    rows_of,
    unranked,
)
from ..reports.tasks import tasks_table
from ..reports.verdict import in_a_word, is_bare, rank, unrelated
from ..scoring.chat import way_of
from ..scoring.generation import MEASURE as TEXT
from ..scoring.metrics import chain_rows, leakage_rows
from .output import console, emit_note, emit_panel, emit_table

if TYPE_CHECKING:
    import pandas as pd

    from ...cypher.rows.chains import Link
    from ...cypher.run import Database
    from ..reports.comparison import Comparison
    from ..reports.paired import Against
    from ..reports.pooling import MeansTable


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
        emit_note(way)
    if score.side_effects.kl is not None:
        emit_note(unrelated(score.side_effects).sentence)
    for sentence in score.notes:
        emit_note(sentence)
    show_asked(score)
    if score.kind == "append":
        _show_additivity(score)
        return
    overall = score.get("ifr", score.measures[0])
    if overall is not None and overall.n == 0:
        why = overall.reason or "no chain counts; 0 is the papers' definition"
        emit_note(f"IFR says nothing about the edit: {why}.", "dim")


def show_asked(score: Score) -> None:
    """Print the results of what a request asks for beside the facts: texts, chat, forms, tasks."""
    if (line := _written(score)) is not None:
        emit_note(line)
    if score.conversation is not None:
        emit_table(conversation_table(score.conversation))
    if score.forms:
        emit_table(forms_table(score.forms))
        if (answers := answers_table(score.forms)) is not None:
            emit_table(answers)
    if score.checks:
        emit_table(checks_table(score.checks))
    if score.tasks:
        emit_table(tasks_table(score.tasks))


def _show_additivity(score: Score) -> None:
    """Print what the appended answer moved: a line a set of false answers; then ES, GS and LS."""
    from ..reports.by_kind import (
        NO_OLD_FACT,
        OF_SUCCESS,
        additivity,
        successes,  # numpy
    )

    emit_table(additivity(score))
    shown = [f"{title} {metric_text(value)} (n = {value.n})" for title, value in successes(score)]
    emit_note(f"{', '.join(shown)}. {OF_SUCCESS}")
    emit_note(NO_OLD_FACT)


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
    around = [row for row in rows if not is_bare(row, score)]
    alive = sum(row.surviving for row in around)
    blocks: list[Text] = []
    for i, row in enumerate(shown, 1):
        text = Text()
        mark = ("● survives", "bold red") if row.surviving else ("○ cut", "dim")
        text.append(f"{i}. ")
        text.append(*mark)
        text.append(", the edited fact itself" * is_bare(row, score), "dim")
        text.append(
            f"  {pluralize(row.steps, 'fact')}  R {number(row.r_pre)} → R' {number(row.r_post)}"
            f"  retention {cell(row.ratio)}\n"
        )
        text.append(f"   {row.entities[0]}\n", "blue")
        for link in row.links:
            text.append(f"{_link_text(link)}\n")
        blocks.append(text)
    title = (
        f"{alive} of {pluralize(len(around), 'chain')} beside the edited fact"
        f" survive{'s' * (alive == 1)}"
        if not surviving
        else pluralize(len(around), "surviving chain")
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
    """CounterFact's scores with their magnitudes."""

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
    title = "Scores of CounterFact (magnitude)"
    columns = indexed("metric", *(MEASURE_NAMES[measure] for measure in score.measures), "prompts")
    emit_table(Table("counterfact", title, columns, rows, note))


def _written(score: Score) -> str | None:
    """Fluency and consistency in a line; None where nothing was generated."""
    before, after = (score.get(f"fluency{side}", TEXT) for side in ("_pre", ""))
    if before is None or after is None:
        return None
    line = f"Fluency {number(before.value)} → {number(after.value)} bits over"
    line += f" {pluralize(after.n, 'text')}"
    before, after = (score.get(f"consistency{side}", TEXT) for side in ("_pre", ""))
    if before is None or after is None or not after.n:
        return f"{line}; consistency needs reference texts, and the rewrite has none."
    texts = pluralize(after.n, "reference text")
    return f"{line}; consistency {number(before.value)} → {number(after.value)} with {texts}."


def _pair(score: MetricValue | None, magnitude: MetricValue | None) -> str:
    return f"{_measured(score)} ({_measured(magnitude)})" if score and score.n else UNDEFINED


def _measured(value: MetricValue | None) -> str:
    return number(value.value if value and value.n else None)


# Tables over several edits in a terminal: one row a method, or one row an edit; sorted by IFR.
#
# A terminal of 80 columns has the four numbers that an edit is judged by. Further columns are
# omitted there by name, least important first; files and `--json` have all columns.

OPTIONAL = {
    **{f"{n}-step": n + 2 for n in STEPS},
    "Generalization": 9,
    "IFR mean": 8,
    "IFR beyond subject": 2,
    "rewrites": 1,
    "families": 10,
    "chains": 10,
}
"""Columns that a narrow terminal omits first."""

HIDDEN = ["n gen.", "n ret.", "IFR sd", "IFR beyond mean", "KL", "n KL"]
"""Columns that only reports have."""

COUNTS = ("Model", "rewrites", "families", "chains")
"""Columns that say the same in every row go below the table."""

ORDER = ("Model", "Method", "Efficacy", "IFR", "Preservation", "Subject retention")
"""The columns that come first."""


def empty_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns without any value, those that come first aside."""
    return [str(c) for c in frame if frame[c].isna().all() and c not in ORDER]


EACH = ("efficacy", "ifr", "preservation")
"""The metrics of a table with one row an edit."""


def show_method_table(found: Comparison, measure: Measure, *, protocol: bool = False) -> None:
    """One row a method in the order to look at them; a table a model.

    Columns that are empty or say the same in every row are left out, the model's name goes into the
    title.

    Args:
        protocol: print the rules of the numbers below the table, instead of a line.
    """
    scores, families = found.scores, found.families
    frame = method_table(scores, measure, families)
    frame = by_rank(frame, scores, measure, ranked=found.comparable)
    last = unranked(scores, measure) if found.comparable else ""
    frame = frame.drop(columns=HIDDEN)
    values = {c: list(dict.fromkeys(frame[c].tolist())) for c in COUNTS}
    constant = [c for c, found_values in values.items() if len(found_values) == 1]
    same = [f"{c.lower()} {values[c][0]}" for c in constant]
    bounded = set(interval_titles().values())
    bounds = {f"{title} {end}" for title in bounded for end in ("low", "high")}
    omitted = {*constant, *bounds, *empty_columns(frame)}
    listed = [str(c) for c in frame.columns if c not in omitted]
    columns = sorted(listed, key=lambda c: ORDER.index(c) if c in ORDER else len(ORDER))
    said = caption_in_brief(scores, measure)
    if protocol:
        rules = caption(scores, measure, columns, families)
        said = f"{', '.join(same)}. " * bool(same) + rules
    note = " ".join([*found.warnings, *([last] if last else []), said])
    models = list(dict.fromkeys(frame["Model"].tolist()))
    laid = [_column(name, name in bounded) for name in columns if name != "Model"]
    for model in models:
        title = (
            f"Scores by method: {MEASURE_NAMES[measure]}"
            + (", best first" if found.comparable else "")
            + f", on {model}" * (len(models) > 1)
        )
        below = note if model == models[-1] else ""
        shown = rows_of(frame[frame["Model"] == model])
        emit_table(Table("methods", title, laid, shown, below))
    if len({(score.model, score.method) for score in scores}) == len(scores):
        show_edits(scores)


EDITS: list[Column[Score]] = [
    Column("model", lambda score: score.model, optional=1),
    Column("method", lambda score: score.method, whole=True),
    Column("edit", lambda score: score.edit, whole=True),
]


def show_edits(scores: Sequence[Score]) -> None:
    """Print the ids by which other commands take these edits; below a table with a row for each."""
    columns = EDITS if len({score.model for score in scores}) > 1 else EDITS[1:]
    emit_table(Table("ids", "Edits", columns, scores, "`thinkeval show EDIT` shows one."))


def show_paired(pairs: Sequence[Against], *, protocol: bool = False) -> None:
    """The best method of each model against each other one, over common rewrites."""
    from ..reports import paired  # numpy; not for `--help`

    show_tables(map(paired.table, pairs), protocol=protocol)


def show_forms(found: Comparison) -> None:
    """The forms of the methods, where their edits were asked in any, and their differences."""
    show_tables(tables_over_edits(found.scores, found.families))


def show_tables(tables: Iterable[Table[Any] | None], *, protocol: bool = False) -> None:
    """Print each table that there is; the rules of its numbers with `protocol` only."""
    for table in tables:
        if table is not None:
            emit_table(table, protocol=protocol)


def _column(name: str, bounded: bool) -> Column[Mapping[str, Any]]:
    """A column of the table of methods; a value's interval is in a line below it."""

    def with_bounds(row: Mapping[str, Any]) -> object:
        low, high = row[f"{name} low"], row[f"{name} high"]
        if math.isnan(low) or math.isnan(high):
            return row[name]
        return with_interval(row[name], low, high).replace(" [", "\n[", 1)

    return Column(
        "method" if name == "Method" else name,
        with_bounds if bounded else itemgetter(name),
        optional=OPTIONAL.get(name, 0),
        whole=bounded or name == "Method",
    )


def show_means_table(found: MeansTable, *, protocol: bool = False) -> None:
    """Print one row a method over requests to append or to forget; a table a model.

    Args:
        protocol: print the rules of the numbers below the table, instead of where they are.
    """
    models = list(dict.fromkeys(row.model for row in found.rows))
    brief = f"{found.note} `thinkeval report --kind {found.kind} --protocol` prints the rules."
    for model in models:
        note = "" if model != models[-1] else found.caption if protocol else brief.strip()
        shown = [row for row in found.rows if row.model == model]
        title = f"{found.title}, on {model}"
        emit_table(Table("means", title, found.columns[1:], shown, note))


def show_each_table(scores: Sequence[Score], measure: Measure, *, protocol: bool = False) -> None:
    """One row an edit in the order to look at them (`reports.verdict.rank`); a table a model.

    Args:
        protocol: print the rules of the numbers below the table, instead of a line.
    """

    def value(metric: str) -> Column[Score]:
        title = interval_titles()[metric]
        return Column(title, lambda score: score.number(metric, measure), cell)

    columns: list[Column[Score]] = [
        Column("method", lambda score: score.method, whole=True),
        Column("verdict", lambda score: in_a_word(score, measure).word, whole=True),
        *map(value, EACH),
        Column("edit", lambda score: score.edit, whole=True),
    ]
    if len({score.dataset for score in scores}) > 1:
        columns.append(Column("graph", lambda score: score.dataset, whole=True, optional=2))
    if len({score.rewrite for score in scores}) > 1:
        columns.append(Column("rewrite", lambda score: score.rewrite, whole=True, optional=3))
    ordered = rank(scores, measure)
    models = list(dict.fromkeys(score.model for score in ordered))
    for model in models:
        said = caption_each(scores, measure) if protocol else caption_in_brief(scores, measure)
        note = said if model == models[-1] else ""
        title = f"Scores by edit: {MEASURE_NAMES[measure]}, on {model}"
        shown = [score for score in ordered if score.model == model]
        emit_table(Table("edits", title, columns, shown, note))
