"""What one appended answer moved, as terminal and web UI show it: additivity by set, success.

Ma et al. 2024 (ICML), §4: relative ranking and change of the correct and the false answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...formatting import pluralize
from ...schemas import MetricValue, Score
from ...scoring.append.additivity import MEASURE

SETS = ("hard", "random")
COLUMNS = {"rff": "RFF", "rnf": "RNF", "cpc": "CPC", "fpc": "FPC", "aff": "AFF", "anf": "ANF"}
"""The metrics of the table with their titles, in the order of the paper's equations."""
SUCCESS = {"append_es": "ES", "append_gs": "GS", "append_ls": "LS"}
NO_OLD_FACT = (
    "An answer was added and none replaced: there is no old fact that could be recovered, so IFR,"
    " surviving chains and what else speaks of an old fact are not taken."
)
MEANING = (
    "AFF: harm to the correct answers, ANF: gain of the false ones; good: 0. RFF, RNF: fraction"
    " that fell below a false answer, or rose above a correct one; CPC, FPC: mean P after over"
    " before."
)


@dataclass(frozen=True, slots=True)
class AdditivityLine:
    """Additivity against one set of false answers; `values` in the order of `COLUMNS`."""

    set: str
    values: tuple[MetricValue | None, ...]
    n: int


def additivity_lines(score: Score) -> list[AdditivityLine]:
    """A line for hard and one for random false answers; none where the score has no such values."""
    found = []
    for name in SETS:
        values = tuple(value_against(score, metric, name) for metric in COLUMNS)
        if any(values):
            found.append(AdditivityLine(name, values, max(v.n for v in values if v)))
    return found


def value_against(score: Score, metric: str, false: str) -> MetricValue | None:
    """A metric of `COLUMNS` against one of `SETS`; CPC is the same for both."""
    return score.get(metric if metric == "cpc" else f"{metric}_{false}", MEASURE)


def successes(score: Score) -> list[tuple[str, MetricValue]]:
    """ES, GS and LS with their titles."""
    found = [(title, score.get(metric, MEASURE)) for metric, title in SUCCESS.items()]
    return [(title, value) for title, value in found if value is not None]


def dropped(lines: Sequence[AdditivityLine]) -> str:
    """How many prompts the filter before the edit dropped, as a sentence; empty for none."""
    counted = [value for line in lines for value in line.values if value is not None]
    left = max((value.excluded for value in counted), default=0)
    if not left:
        return ""
    return (
        f" {pluralize(left, 'prompt')} dropped: before the edit no correct answer, or no false one,"
        " was kept there."
    )
