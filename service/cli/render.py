"""How a score, its chains and its leaking facts look in a terminal.

How CounterFact's metrics of an edit look in a terminal: score and magnitude side by side.

How a sweep's report looks in a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from thinkeval.cypher.metric_options import interval_titles
from thinkeval.service.cli.output import console, emit_table
from thinkeval.service.formatting import cell, interval, number, several, signed, with_interval
from thinkeval.service.reports.score_lines import lines, metric_text
from thinkeval.service.reports.table import STEPS, caption, method_table
from thinkeval.service.schemas import MEASURE_NAMES, Measure, MetricValue, Score
from thinkeval.service.scoring.generation import MEASURE as TEXT
from thinkeval.service.scoring.metrics import chain_rows, leakage_rows

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.reports.matched import Difference
    from thinkeval.service.reports.sweep import SweepReport


def show_score(score: Score) -> None:
    """The score of one edit: the headline metrics by measure, then IFR by steps."""
    columns = ["metric", *(MEASURE_NAMES[m] for m in score.measures), "n", "left out (pre = 0)"]
    rows = [
        [line.label, *(metric_text(v) for v in line.values), line.n, line.excluded]
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
            f"  {several(row.steps, 'step')}  R {number(row.r_pre)} → R' {number(row.r_post)}"
            f"  retention {cell(row.ratio)}\n"
        )
        text.append(f"   {row.entities[0]}\n", "blue")
        for link in row.links:
            text.append(
                f"     ─ {link.relation} → {link.object}   {number(link.pre)} →"
                f" {number(link.post)}  (× {cell(link.ratio)})\n"
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


ROWS = ("efficacy", "generalization", "specificity")


def show_counterfact(score: Score) -> None:
    """Share of prompts where the right object is the likelier one, and by how much; then texts."""
    rows: list[list[object]] = []
    for name in ROWS:
        pairs = [(score.get(f"{name}_score", m), score.get(f"{name}_magnitude", m))
                 for m in score.measures]  # fmt: skip
        rows.append([name, *(_pair(*pair) for pair in pairs), _count(one for one, _ in pairs)])
    whole = [score.get("counterfact_score", m) for m in score.measures]
    rows.append(["Score S", *(_cell(value) for value in whole), _count(whole)])
    emit_table(
        "As CounterFact measures it: score (magnitude)",
        ["metric", *(MEASURE_NAMES[m] for m in score.measures), "prompts"],
        rows,
        note="share of prompts where the right object is the likelier one (mean margin); S is the"
        " harmonic mean of the three. The paper's own measure is the length-normalised one.",
    )
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
    return f"{_cell(score)} ({_cell(magnitude)})" if score and score.n else "–"


def _cell(value: MetricValue | None) -> str:
    return cell(value.value if value and value.n else None)


def _count(values: Iterable[MetricValue | None]) -> int:
    return max((value.n for value in values if value), default=0)


def show_sweep(report: SweepReport, measure: Measure) -> None:
    """The table, methods at equal efficacy, differences that count, failed cells."""
    if report.scores:
        show_method_table(report.scores, measure)
    _show_matched(report)
    for model, rows in report.differences.items():
        _show_differences(model, rows)
    if report.failed:
        emit_table(
            f"{several(len(report.failed), 'cell')} failed",
            ["cell", "reason"],
            [(outcome.cell.name, outcome.error) for outcome in report.failed],
        )


def _show_matched(report: SweepReport) -> None:
    for (model, seed), rows in report.matched.items():
        if not rows:
            continue
        emit_table(
            f"At equal efficacy: {model}, seed {seed}",
            ["method", "efficacy", "IFR", "95 % over rewrites", "Preservation", "rewrites"],
            [
                (
                    row.method,
                    row.efficacy,
                    cell(row.ifr),
                    interval(row.ifr_interval),
                    cell(row.preservation),
                    row.n,
                )
                for row in rows
            ],
            note="Updates were also put on at a quarter, half and three quarters of their size; IFR"
            " and Preservation are interpolated where the mean efficacy is the one given. A dash:"
            " the method never has that efficacy.",
        )


def _show_differences(model: str, rows: list[Difference]) -> None:
    """Those that exceed chance; how many were looked at stands beside them.

    Where methods were compared at equal efficacy, only that: as they are they differ in strength.
    """
    if any(row.efficacy is not None for row in rows):
        rows = [row for row in rows if row.efficacy is not None]
    counted = [row for row in rows if row.beyond_rewrites and row.beyond_seeds is not False]
    if not rows:
        return
    seeds = rows[0].seeds
    over_seeds = (
        f" and exceed twice their standard deviation over {seeds} seeds"
        if seeds > 1
        else "; over seeds nothing is known from one: add --seed 1 --seed 2"
    )
    if not counted:
        console().print(
            f"{model}: none of {len(rows)} differences between methods leaves 0 out of its 95 %"
            f" interval over rewrites{over_seeds}."
        )
        return
    emit_table(
        f"Differences that exceed chance: {model}",
        ["methods", "metric", "at efficacy", "difference", "95 % over rewrites", "sd over seeds"],
        [
            (
                f"{row.first} − {row.second}",
                row.metric,
                "as it is" if row.efficacy is None else cell(row.efficacy),
                signed(row.value),
                interval(row.interval),
                cell(row.spread),
            )
            for row in counted
        ],
        note=f"{len(counted)} of {len(rows)} differences between methods of efficacy above .5 leave"
        f" 0 out of their 95 % interval over rewrites (paired bootstrap){over_seeds}. With so many"
        " looked at, one in twenty does so by chance.",
    )
