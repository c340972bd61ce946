"""How CounterFact's metrics of an edit look in a terminal: score and magnitude side by side."""

from __future__ import annotations

from collections.abc import Iterable

from thinkeval.service.cli.options import cell, console, emit_table
from thinkeval.service.schemas import MEASURE_NAMES, MetricValue, Score
from thinkeval.service.scoring.generation import MEASURE as TEXT

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
    line = f"Fluency {before.value:.3f} → {after.value:.3f} bits over {after.n} texts"
    before, after = (score.get(f"consistency{side}", TEXT) for side in ("_pre", ""))
    if before is None or after is None or not after.n:
        return f"{line}; consistency needs reference texts, and the rewrite has none."
    texts = f"{after.n} reference text{'s' if after.n > 1 else ''}"
    return f"{line}; consistency {before.value:.3f} → {after.value:.3f} with {texts}."


def _pair(score: MetricValue | None, magnitude: MetricValue | None) -> str:
    return f"{_cell(score)} ({_cell(magnitude)})" if score and score.n else "–"


def _cell(value: MetricValue | None) -> str:
    return cell(value.value if value and value.n else None)


def _count(values: Iterable[MetricValue | None]) -> int:
    return max((value.n for value in values if value), default=0)
