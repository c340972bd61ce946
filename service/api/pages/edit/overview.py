"""Values of the first screen of an edit: verdict, four figures, map, next step, chain tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .....cypher.metric_options import displays
from ....formatting import interval, number
from ....reports.chain_tree import Branch, chain_tree
from ....reports.conversation_lines import conversation_table
from ....reports.score_lines import lines
from ....reports.verdict import subject_sentence
from ..leak_cut import CutAsked, cut_values
from .appended import append_values
from .leakage import map_values

if TYPE_CHECKING:
    from ....reports.verdict import Part
    from .view import View

FIGURES = (
    ("Efficacy", "efficacy", "the edited fact is answered anew; good: 1"),
    ("IFR", "ifr", "of the old fact, still deduced by chains; good: 0"),
    ("Preservation", "preservation", "of other facts on the chains is kept; good: 1"),
    ("Subject retention", "subject_retention", "of other facts about the subject is kept; good: 1"),
)
"""The four figures: label, metric, meaning."""
FORGETTING = ("Forgetting", "forgetting", "of the fact's probability is gone; good: 1")
"""In place of efficacy, where the fact shall be forgotten."""

BRANCHES = 6
"""Branches of the chain tree that are listed at first, at each level."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the four figures.

    Attributes:
        bounds: its 95 % interval in brackets; "exact" where nothing was sampled.
        part: the verdict's part on it.
    """

    label: str
    meaning: str
    value: str
    bounds: str
    n: int
    part: Part


def figures(view: View) -> list[Figure]:
    """Efficacy, IFR, Preservation and subject retention by the view's measure."""
    parts = (view.judged.installed, view.judged.left, view.judged.kept, view.judged.subject)
    shown = (FORGETTING, *FIGURES[1:]) if view.score.kind == "forget" else FIGURES
    found = []
    for (label, metric, meaning), part in zip(shown, parts, strict=True):
        value = view.score.get(metric, view.measure)
        bounds = ""
        if value is not None and value.value is not None:
            known = value.low is not None and value.high is not None
            bounds = interval((value.low, value.high)) if known else _unsampled(view)  # type: ignore[arg-type]
        found.append(
            Figure(label, meaning, number(value.value if value else None), bounds,
                   value.n if value else 0, part)
        )  # fmt: skip
    return found


def _unsampled(view: View) -> str:
    return "no interval" if view.measure == "p" else "exact"


def overview_values(view: View, browser: str) -> dict[str, Any]:
    """Values of `edit/overview.html`.

    Args:
        browser: address of Neo4j Browser; "" if it is unknown.
    """
    score = view.score
    values = view.values("") | numbers(view)
    walked = score.conversation
    values["conversation"] = None if walked is None else conversation_table(walked)
    if score.append:
        return values | append_values(view.db, score, score.append)
    cut = cut_values(view.db, score, view.measure, CutAsked(), browser)
    facts = cut["cut"].facts if cut["cut"] else ()
    chosen = {f"{score.edit}|{fact.id}" for fact in facts}
    return (
        values
        | cut
        | map_values(view, chosen)
        | {
            "figures": figures(view),
            "about_subject": subject_sentence(score),
            "tree": chain_tree(view.rows),
            "branches": BRANCHES,
            "ways": ways(chain_tree(view.rows)),
        }
    )


def ways(tree: list[Branch]) -> list[str]:
    """First entities of surviving chains, largest fraction of IFR first."""
    alive = (branch for branch in tree if branch.surviving and not branch.ends)
    return list(dict.fromkeys(branch.link.object for branch in alive))


def numbers(view: View) -> dict[str, Any]:
    """Values of `edit/_numbers.html`: every metric by every measure."""
    return {"lines": lines(view.score), "display": displays()}
