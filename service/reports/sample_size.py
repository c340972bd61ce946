"""Rewrites and samples that a wanted interval or difference needs, before a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from ..base import inference
from ..base.errors import UsageError
from ..base.formatting import pluralize, short
from ..models.edit import Measure
from .comparison import Comparison
from .formats import Column, Table
from .paired import Parts, curve_of, paired
from .pooling import POOLED

# A difference is detectable from 2.80 standard errors on, and half the width of an interval is 1.96
# of them. The standard error of n rewrites is sd / √n, where sd is that of the stored scores: the
# cluster-robust error of the difference times √n, so that families and weights are in it (for
# families of equal size m it is the sd of one rewrite times √(1 + (m − 1)·ICC)). As a pilot's sd is
# itself uncertain, numbers are from its upper 80 % limit: sd · √((G − 1) / χ²(.2, G − 1)).

PILOT = 12
"""Rewrites from which on the sd of stored scores is used."""
ASSUMED = (0.3, 0.5)
"""sd without a pilot: of paired differences that are often seen, and the largest of a share."""
METRICS = ("efficacy", "ifr", "preservation", "subject_retention")


class Needed(BaseModel):
    """The numbers for one metric, or for one assumed sd."""

    metric: str | None = Field(description="Name of the metric; null for an assumed sd.")
    pilot: int = Field(description="Stored rewrites that the sd is from; 0: it is assumed.")
    families: int = Field(description="Families of these rewrites.")
    sd: float = Field(description="Standard error of the stored scores times √n, or assumed.")
    sd_upper: float = Field(description="Its upper 80 % limit, which the numbers are from.")
    for_difference: int | None = Field(
        description="Rewrites that show the difference (power .8); null for one method."
    )
    for_width: int = Field(description="Rewrites whose 95 % interval is at most so wide.")
    detectable: float | None = Field(
        description="Difference that all rewrites of the graph show (power .8); null without any."
    )


class SampleSize(BaseModel):
    """The needs of a run, for a wanted difference and width."""

    graph: str = Field(description="Id of the graph.")
    rewrites: int = Field(description="Rewrites that it has.")
    methods: list[str] = Field(description="Methods whose stored scores give the sd.")
    difference: float = Field(description="The difference to detect.")
    width: float = Field(description="Width of the 95 % interval, from end to end.")
    rows: list[Needed] = Field(description="One a metric, or one an assumed sd.")
    samples: int = Field(
        description="Sampled answers a probe whose share has a 95 % interval of at most that width."
    )
    families: int = Field(description="Families below which no difference reaches p = .05.")
    reason: str = Field(description="What the sd is from, in a sentence.")


def upper(sd: float, families: int) -> float:
    """Upper 80 % limit of an sd that was estimated from so many families."""
    from scipy.special import chdtri

    freedom = families - 1
    return sd * math.sqrt(freedom / float(chdtri(freedom, 0.8)))


def rewrites_for_difference(sd: float, difference: float) -> int:
    """Rewrites that show a difference at level .05 with a power of .8."""
    return _whole((inference.POWERED * sd / difference) ** 2)


def rewrites_for_width(sd: float, width: float) -> int:
    """Rewrites whose mean has a 95 % interval of at most this width, from end to end."""
    return _whole((2 * inference.Z * sd / width) ** 2)


def samples_for_width(width: float, share: float = 0.5) -> int:
    """Sampled answers whose share has a 95 % interval of at most this width: z²·p(1 − p)/h²."""
    return rewrites_for_width(math.sqrt(share * (1 - share)), width)


def _whole(number: float) -> int:
    return math.ceil(number - 1e-9)


def sample_size(
    found: Comparison | None,
    graph: str,
    rewrites: int,
    methods: Sequence[str],
    measure: Measure,
    difference: float,
    width: float,
) -> SampleSize:
    """The numbers for two methods from their stored scores, for one from its own, else assumed.

    Args:
        found: stored scores of these methods on one model; None: there is none.

    Raises:
        UsageError: more than two methods, or a difference or width that is out of range.
    """
    if len(methods) > 2:
        raise UsageError("A plan is for one method, or for two.", remedy="Give -m twice at most.")
    for name, value in (("--difference", difference), ("--width", width)):
        if not 0 < value <= 1:
            raise UsageError(f"{name} {value:g} is out of range.", remedy="Give 0 to 1, as 0.1.")
    wanted = _Wanted(rewrites, difference, width)
    measured, refused = _measured(found, methods, measure)
    usable = [row for row in measured if row.n >= PILOT and row.families > 1]
    if usable:
        rows = [
            _needed(row.metric, row.sd, upper(row.sd, row.families), row.n, row.families, wanted)
            for row in usable
        ]
        if len(methods) == 1:  # there is no difference of one method
            rows = [
                row.model_copy(update={"for_difference": None, "detectable": None}) for row in rows
            ]
        of = " − ".join(methods)
        reason = f"sd of {of} over {pluralize(max(row.n for row in usable), 'stored rewrite')}."
    else:
        rows = [_needed(None, sd, sd, 0, 0, wanted) for sd in ASSUMED]
        n, families = max(((row.n, row.families) for row in measured), default=(0, 0))
        reason = (
            f"sd is assumed, {short(ASSUMED[0])} to {short(ASSUMED[1])}: a pilot of {PILOT}"
            f" rewrites in two families or more would give it (stored: {n} in {families})."
            f"{''.join(f' {each}' for each in refused)}"
        )
    reach = next(g for g in range(1, 20) if inference.least_p(g) <= inference.LEVEL)
    return SampleSize(
        graph=graph,
        rewrites=rewrites,
        methods=list(methods),
        difference=difference,
        width=width,
        rows=rows,
        samples=samples_for_width(width),
        families=reach,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class _Spread:
    """The spread of a metric over stored rewrites, by the standard error of its mean."""

    metric: str
    error: float
    n: int
    families: int

    @property
    def sd(self) -> float:
        return self.error * math.sqrt(self.n)


@dataclass(frozen=True, slots=True)
class _Wanted:
    rewrites: int
    difference: float
    width: float


def _measured(
    found: Comparison | None, methods: Sequence[str], measure: Measure
) -> tuple[list[_Spread], tuple[str, ...]]:
    """The spreads of one method, or of two in a pair, and why they are no pair."""
    if found is None or not methods:
        return [], ()
    if len(methods) == 1:
        return _alone(found, measure), ()
    against = paired(found, measure, best=methods[1], metrics=METRICS)
    spreads = [
        _Spread(
            row.metric,
            math.inf if row.detectable is None else row.detectable / inference.POWERED,
            row.n,
            row.families,
        )
        for each in against
        for row in each.rows
    ]
    return spreads, tuple(said for each in against for said in each.refused)


def _alone(found: Comparison, measure: Measure) -> list[_Spread]:
    curve = curve_of(found.scores, measure, found.families)
    known = {metric: curve.defined(metric) for metric in POOLED}
    parts = Parts.of(curve, known)
    spreads = []
    for metric in METRICS:
        place, n = POOLED.index(metric), int(known[metric].sum())
        here = parts.under[:, 0, place] > 0
        if n:
            sums, sizes = parts.over[here, 0, place], parts.under[here, 0, place]
            _, error, _ = inference.cluster_t(sums, sizes)
            spreads.append(_Spread(metric, error, n, int(here.sum())))
    return spreads


def _needed(
    metric: str | None, sd: float, above: float, pilot: int, families: int, wanted: _Wanted
) -> Needed:
    n = wanted.rewrites
    return Needed(
        metric=metric,
        pilot=pilot,
        families=families,
        sd=sd,
        sd_upper=above,
        for_difference=rewrites_for_difference(above, wanted.difference),
        for_width=rewrites_for_width(above, wanted.width),
        detectable=inference.POWERED * above / math.sqrt(n) if n else None,
    )


def table(found: SampleSize) -> Table[Needed]:
    """The numbers as a table, with the sentences below it."""
    columns: list[Column[Needed]] = [
        Column("metric", lambda row: row.metric or "any"),
        Column("sd", lambda row: row.sd, short),
        Column("upper 80 %", lambda row: row.sd_upper, short),
        Column(f"rewrites for a difference of {short(found.difference)}",
               lambda row: row.for_difference),
        Column(f"for an interval of ± {short(found.width / 2)}", lambda row: row.for_width),
        Column(f"difference that {pluralize(found.rewrites, 'rewrite')} show",
               lambda row: row.detectable, short),
    ]  # fmt: skip
    note = (
        f"{found.reason} Level .05, power .8, before an adjustment for several comparisons."
        f" Rewrites of fewer than {found.families} families cannot reach p = .05. Sampled answers a"
        f" probe for ± {short(found.width / 2)} of its share: {found.samples}."
    )
    return Table("needed", f"Needed on {found.graph}", columns, found.rows, note)
