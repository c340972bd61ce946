"""Additivity of an edit that appends an answer, by brute force, without any database.

Source: Ma et al., Neighboring Perturbations of Knowledge Editing on LLMs, ICML 2024, section 4,
Eq. 1 to 6, and section 7.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

Column = tuple[str, float, float]
"""A name, its probability before the edit and after it."""


@dataclass(frozen=True)
class Asked:
    """One prompt: target_new's probabilities, and those of the three lists of names.

    Of a locality prompt only `new` and `right` (before, after) are given.
    """

    role: Literal["prompt", "paraphrase", "locality"]
    new: tuple[float, float]
    correct: Sequence[Column] = ()
    hard: Sequence[Column] = ()
    random: Sequence[Column] = ()
    right: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Means:
    """The expected row of a query for one edit and set of false answers."""

    prompts: int
    n: int
    dropped: tuple[int, int, int]
    values: dict[str, float | None] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


def without(names: Sequence[Column], others: Sequence[Column]) -> list[Column]:
    """The columns whose name no other has."""
    return [x for x in names if all(x[0] != other[0] for other in others)]


def filtered(asked: Asked, *, strict: bool = False) -> tuple[list[list[Column]], int | None]:
    """The kept columns of the three lists; and the first list that is empty (None: none is)."""
    correct, hard, random = list(asked.correct), list(asked.hard), list(asked.random)
    if strict:
        correct, hard = without(correct, hard), without(hard, correct)
    kept = []
    for column in correct:
        larger = [f for f in hard if f[1] > column[1]]
        if not hard or len(larger) / len(hard) < 0.2:
            kept.append(column)
    least = min((column[1] for column in kept), default=math.inf)
    lists = [kept, *([f for f in wrong if f[1] < least] for wrong in (hard, random))]
    return lists, next((i for i, each in enumerate(lists) if not each), None)


def sigma(p: float) -> float:
    """The logistic function."""
    return math.e**p / (1 + math.e**p)


def of_prompt(correct: Sequence[Column], wrong: Sequence[Column]) -> dict[str, float | None]:
    """RFF, RNF, CPC, FPC, AFF and ANF at one prompt, Eq. 1 to 6."""
    top, bottom = max(f[2] for f in wrong), min(o[2] for o in correct)
    rff = sum(sigma(o[2]) for o in correct if o[2] < top) / sum(sigma(o[2]) for o in correct)
    rnf = sum(sigma(f[2]) for f in wrong if f[2] > bottom) / sum(sigma(f[2]) for f in wrong)
    cpc = fmean(o[2] for o in correct) / fmean(o[1] for o in correct)
    before = fmean(f[1] for f in wrong)
    fpc = fmean(f[2] for f in wrong) / before if before else None
    aff = 1 - (1 - rff) * min(1, cpc)
    anf = None
    if fpc is not None:
        anf = 1 - (1 - rnf) * min(1, 1 / fpc if fpc else math.inf)
    return {"rff": rff, "rnf": rnf, "cpc": cpc, "fpc": fpc, "aff": aff, "anf": anf}


def of_edit(
    prompts: Sequence[Asked],
    wrong: Literal["hard", "random"],
    *,
    strict: bool = False,
    published: bool = False,
    es_over: str = "kept",
    ls_over: str = "all",
) -> Means:
    """All values of one edit against one set of false answers."""
    asked = [each for each in prompts if each.role != "locality"]
    found = [filtered(each, strict=strict) for each in asked]
    dropped = [sum(missing == i for _, missing in found) for i in range(3)]
    last = [missing for each, (_, missing) in zip(asked, found, strict=True)
            if each.role == "paraphrase"][-1:]  # fmt: skip
    gone = published and last not in ([], [None])
    values: dict[str, list[float | None]] = {}
    for lists, missing in [] if gone else found:
        if missing is None:
            for name, value in of_prompt(lists[0], lists[1 if wrong == "hard" else 2]).items():
                values.setdefault(name, []).append(value)
    n = 0 if gone else sum(missing is None for _, missing in found)
    means: dict[str, float | None] = {}
    counts: dict[str, int] = {}

    def put(name: str, taken: Sequence[float | None]) -> None:
        defined = [value for value in taken if value is not None]
        means[name] = fmean(defined) if defined else None
        counts[name] = len(defined)

    for name in ("rff", "rnf", "cpc", "fpc", "aff", "anf"):
        put(name, values.get(name, []))

    def success(role: str) -> list[float | None]:
        out: list[float | None] = []
        for each, (lists, missing) in zip(asked, found, strict=True):
            rivals = lists[0] if missing is None else []
            if es_over == "all":
                rivals = without(each.correct, each.hard) if strict else each.correct
            if each.role == role and rivals:
                out.append(float(each.new[1] > min(o[2] for o in rivals)))
        return [] if gone else out

    put("es", success("prompt"))
    put("gs", success("paraphrase"))
    near = [each for each in prompts if each.role == "locality"]
    known: Callable[[Asked], bool] = lambda each: each.right[0] > each.new[0]  # noqa: E731
    chosen = [e for e in near if not gone and (ls_over == "all" or known(e))]
    put("ls", [float(each.right[1] > each.new[1]) for each in chosen])
    return Means(len(asked), n, (dropped[0], dropped[1], dropped[2]), means, counts)
