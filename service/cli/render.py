"""How a score, its chains and its leaking facts look in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from thinkeval.cypher.metric_options import integers, interval_titles
from thinkeval.service.cli.options import cell, console, emit_table, several, with_interval
from thinkeval.service.reports.score_lines import lines
from thinkeval.service.reports.table import STEPS, caption, method_table
from thinkeval.service.schemas import MEASURE_NAMES, Measure, MetricValue, Score
from thinkeval.service.scoring.metrics import chain_rows, leakage_rows

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database


def show_score(score: Score) -> None:
    """The score of one edit: the headline metrics by measure, then IFR by steps."""
    columns = ["metric", *(MEASURE_NAMES[m] for m in score.measures), "n", "left out (pre = 0)"]
    rows = [
        [line.label, *(_bounded(v) for v in line.values), line.n, line.excluded]
        for line in lines(score)
    ]
    emit_table(
        f"{score.subject}: {score.target_true} → {score.target_new}",
        columns,
        rows,
        note=f"edit {score.edit}, {score.method} on {score.model}"
        + (", stored earlier" if score.reused else ""),
    )
    overall = score.get("ifr", score.measures[0])
    if overall is not None and overall.n == 0:
        console().print(
            "No chain of ≤ 5 steps leads from subject to old object in this graph: IFR is 0 by"
            " definition, and says nothing about the edit."
        )


def _bounded(value: MetricValue | None) -> str:
    if value is None:
        return cell(None)
    number = int(value.value) if value.metric in integers() else value.value
    return with_interval(number, value.low, value.high)


def show_chains(
    db: Database,
    score: Score,
    measure: Measure,
    *,
    surviving: bool = False,
    steps: int | None = None,
    limit: int = 20,
) -> None:
    """The chains, strongest surviving first: entities, relations, p_pre → p_post, retention."""
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
            f"  {several(row.steps, 'step')}  R {row.r_pre:.3f} → R' {row.r_post:.3f}"
            f"  retention {cell(row.ratio)}\n"
        )
        text.append(f"   {row.entities[0]}\n", "blue")
        for link in row.links:
            text.append(
                f"     ─ {link.relation} → {link.object}   {link.pre:.3f} →"
                f" {link.post:.3f}  (× {cell(link.ratio)})\n"
            )
        blocks.append(text)
    title = (
        f"{alive} of {several(len(rows), 'chain')} survive{'s' * (alive == 1)}"
        if not surviving
        else several(len(rows), "surviving chain")
    ) + f" ({MEASURE_NAMES[measure]})"
    body = Group(*blocks) if blocks else Text("none")
    note = f"showing {len(shown)} of {len(rows)}" if len(shown) < len(rows) else None
    console().print(Panel(body, title=title, title_align="left", subtitle=note))


def show_leakage(db: Database, score: Score, measure: Measure, limit: int = 10) -> None:
    """The facts that carry most surviving chains: what to edit next."""
    rows = leakage_rows(db, score, measure)
    emit_table(
        "Facts that carry most surviving chains",
        ["subject", "relation", "object", "surviving chains", "share", "IFR share", "pre", "post"],
        [
            (r.subject, r.relation, r.object, r.chains, r.share, r.ifr_share, r.pre, r.post)
            for r in rows[:limit]
        ],
    )


SHORT = {
    "Technique": "method",
    "Efficacy": "effic.",
    "Generalization": "gener.",
    **{f"{n}-step": f"{n}" for n in STEPS},
    "Preservation": "Pres.",
}
"""Column names that let the table fit a terminal; reports have the long ones."""


def show_method_table(scores: list[Score], measure: Measure) -> None:
    """One row a method, as the report has it; columns that say the same in every row go below."""
    frame = method_table(scores, measure).drop(columns=["n gen.", "IFR mean", "IFR sd"])
    held = {c: list(dict.fromkeys(frame[c].tolist())) for c in ("Model", "rewrites", "chains")}
    constant = [c for c, values in held.items() if len(values) == 1]
    same = [f"{c.lower()} {held[c][0]}" for c in constant]
    bounded = set(interval_titles().values())
    bounds = [f"{title} {end}" for title in bounded for end in ("low", "high")]
    columns = [c for c in frame.columns if c not in (*constant, *bounds)]
    rows = [
        [
            with_interval(row[c], row[f"{c} low"], row[f"{c} high"]) if c in bounded else row[c]
            for c in columns
        ]
        for row in frame.to_dict("records")
    ]
    emit_table(
        f"Scores by method: {MEASURE_NAMES[measure]}; IFR overall, then by steps 1 to 5",
        [SHORT.get(str(c), str(c)) for c in columns],
        rows,
        note=f"{', '.join(same)}. {caption(scores, measure, columns)}",
    )
