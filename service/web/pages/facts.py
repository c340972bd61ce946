"""Values of `/facts` and of the comparison of edits: one fact or edit beside the other."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....cypher import rows
from ...base.errors import NotFoundError, UsageError
from ...base.formatting import pluralize as count_words
from ...graphs import datasets
from ...models.edit import MEASURE_NAMES, Measure, Score
from ...reports import figure_style
from ...reports.comparison import compare
from ...reports.paired import Difference, difference_text, further, paired
from ...reports.paired import verdict as paired_verdict
from ...reports.table import STEPS
from ...reports.verdict import BestMethod, best_method, in_a_word, rank, took
from ...scoring import record
from ...scoring.intervals import MEASURE as SAMPLED
from ...scoring.request import posted
from . import charts, matrix
from .home import last_used
from .matrix import View, Which, stored_scores

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ....loaders.records import RewriteRequest
    from ...base.cache import Cache
    from ...reports.verdict import Part


# Values of `/facts`: the facts of a data set, and one of them by all methods.
#
# On one fact a difference is exact where probabilities are exact likelihoods; the paired
# difference over common rewrites shows if it is the same on other facts. Where probabilities are
# sampled, the difference on this fact has an interval of its own.

__all__ = ["Asked", "Which", "list_values", "values"]

FACTS_ON_PAGE = 20
"""Facts on one page of the list."""
PLOT_W, PLOT_H = 132.0, 64.0
"""Size of one small plot of IFR by steps, in pixels."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The parameters in the address of a fact's page."""

    model: str = ""
    measure: Measure | None = None
    chains: Which = "all"
    page: int = 1


@dataclass(frozen=True, slots=True)
class Listed:
    """One fact of the list; `row` has its scored methods, None without any."""

    request: RewriteRequest
    row: matrix.MatrixRow | None


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One method on the fact.

    Attributes:
        here: its IFR minus that of the best method on this fact; None for the best itself.
        interval: 95 % interval of `here`, where answers were sampled.
        over: the paired difference of IFR over all common rewrites; None without.
        plot: IFR by steps as points (x, y, steps, value) in a small plot.
        word: the verdict in a word.
    """

    score: Score
    series: charts.Series
    efficacy: float | None
    ifr: float | None
    preservation: float | None
    retention: float | None
    here: float | None
    interval: tuple[float, float] | None
    over: Difference | None
    plot: tuple[tuple[float, float, int, float], ...]
    word: Part
    took: bool

    @property
    def band(self) -> str:
        """Class of the colour of its IFR."""
        return matrix.band(self.ifr) if self.took else ""


def list_values(
    db: Database, boards: Cache[dict[str, Any]], graph: str, text: str, view: View
) -> dict[str, Any]:
    """One page of the facts of a data set that fit a text.

    Raises:
        NotFoundError: no such data set.
    """
    sets = [row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")]
    graph = last_used(db).graph_of(sets, graph)
    scores: list[Score] = []
    requests: list[RewriteRequest] = []
    if graph:
        datasets.require_graph(db, graph)
        scores = stored_scores(db, boards, graph)[0]
        requests = datasets.list_rewrites(db, graph)
    table = matrix.table(matrix.of_scores(scores), view.measure)
    by_rewrite = {row.entry.rewrite: row for row in table}
    words = text.lower().split()
    found = [
        Listed(request, by_rewrite.get(request.id))
        for request in requests
        if all(word in _text(request) for word in words)
    ]
    found.sort(key=lambda item: _place(item, view.order))
    page = min(view.page, max(1, -(-len(found) // FACTS_ON_PAGE)))
    return {
        "sets": sets,
        "graph": graph,
        "q": text,
        "order": view.order,
        "measure": view.measure,
        "facts": found[(page - 1) * FACTS_ON_PAGE : page * FACTS_ON_PAGE],
        "total": len(found),
        "page": page,
        "pages": max(1, -(-len(found) // FACTS_ON_PAGE)),
        "bands": matrix.BANDS,
    }


def _text(request: RewriteRequest) -> str:
    fact = request.prompt.replace("{}", request.subject)
    return f"{fact} {request.target_true} {request.target_new} {request.id}".lower()


def _place(item: Listed, order: matrix.Order) -> tuple[float, str]:
    name = item.request.prompt.replace("{}", item.request.subject)
    if item.row is None or order == "name":
        return (0.0 if order == "name" else 1.0, name)
    mean = item.row.mean
    value = item.row.spread if order == "spread" else (-1.0 if mean is None else mean)
    return (-value, name)


def values(
    db: Database, boards: Cache[dict[str, Any]], graph: str, rewrite: str, asked: Asked
) -> dict[str, Any]:
    """One fact by all methods of one model.

    Raises:
        NotFoundError: no such data set, or it has no such fact.
    """
    datasets.require_graph(db, graph)
    every = stored_scores(db, boards, graph)[0]
    mine = [score for score in every if score.rewrite == rewrite]
    request = _request(db, graph, rewrite, mine)
    models = sorted(
        {score.model for score in mine},
        key=lambda model: (-sum(score.model == model for score in mine), model),
    )
    model = asked.model if asked.model in models else (models[0] if models else "")
    scores = [score for score in mine if score.model == model]
    measures = [m for m in MEASURE_NAMES if any(m in score.measures for score in scores)]
    measure = asked.measure or first(measures)
    scores = [score for score in scores if measure in score.measures]
    scores = rank(sorted(scores, key=lambda s: s.method), measure)
    look = best_method(scores, measure) if scores else None
    best = look.score if look and look.kept else None
    over = _over(db, boards, every, model, measure, best)
    table = _rows(db, scores, best, over, measure)
    key = ("chains", tuple((s.edit, s.provenance.get("created_at")) for s in scores), measure)
    found = boards.get(key, lambda: {"rows": matrix.read(db, scores, measure)})["rows"]
    return {
        "graph": graph,
        "about": request,
        "models": models,
        "model": model,
        "measures": measures,
        "measure": measure,
        "names": MEASURE_NAMES,
        "methods": table,
        "best": best,
        "sampled": measure == SAMPLED,
        "verdict": _verdict(table, look),
        "more": further(list(over.values())),
        "grid": matrix.shown(found, asked.chains, asked.page),
        "columns": [(row.score, row.series) for row in table],
        "bands": matrix.BANDS,
        "plot": {"width": PLOT_W, "height": PLOT_H},
    }


def first(measures: Sequence[str]) -> Measure:
    """The measure that is shown where none is chosen: exact likelihood, if it was taken."""
    for measure in ("likelihood", "likelihood_norm", "p"):
        if measure in measures:
            return measure
    return "likelihood"


def _request(db: Database, graph: str, rewrite: str, scores: Sequence[Score]) -> dict[str, str]:
    listed, written = datasets.split_rewrites(db, graph)
    for item in (*listed, *written, *scores):
        name = item.rewrite if isinstance(item, Score) else item.id
        if name == rewrite:
            return {
                "id": rewrite,
                "fact": item.prompt.replace("{}", item.subject),
                "target_true": item.target_true,
                "target_new": item.target_new,
            }
    raise NotFoundError("rewrite", rewrite, [item.id for item in listed], listing=f"/facts?{graph}")


def _over(
    db: Database,
    boards: Cache[dict[str, Any]],
    every: Sequence[Score],
    model: str,
    measure: Measure,
    best: Score | None,
) -> dict[str, Difference]:
    """{method: its IFR minus that of the best one, over the rewrites all methods have}."""
    if best is None:
        return {}
    scores = [s for s in every if s.model == model and measure in s.measures]
    edits = tuple((s.edit, s.provenance.get("created_at")) for s in scores)

    def read() -> dict[str, Any]:
        found = paired(compare(db, scores, measure), measure, best.method)
        return {row.first: row for against in found for row in against.of("ifr")}

    return boards.get(("over", best.method, measure, hash(edits)), read)


def _rows(
    db: Database,
    scores: Sequence[Score],
    best: Score | None,
    over: dict[str, Difference],
    measure: Measure,
) -> list[MethodRow]:
    highest = max(
        [1.0]
        + [v.value or 0.0 for s in scores for v in s.by_step("ifr_by_steps", measure).values()]
    )
    placed = figure_style.places(score.method for score in scores)
    found = []
    for place, score in enumerate(scores):
        ifr = score.number("ifr", measure)
        lowest = best.number("ifr", measure) if best else None
        other = best is not None and score.edit != best.edit
        found.append(
            MethodRow(
                score,
                charts.Series(score.method, place, placed[score.method]),
                score.number("efficacy", measure),
                ifr,
                score.number("preservation", measure),
                score.number("subject_retention", measure),
                ifr - lowest if other and ifr is not None and lowest is not None else None,
                _interval(db, best, score) if other and measure == SAMPLED and best else None,
                over.get(score.method),
                _plot(score, measure, highest),
                in_a_word(score, measure),
                took(score, measure),
            )
        )
    return found


def _interval(db: Database, best: Score, score: Score) -> tuple[float, float] | None:
    from ...scoring.intervals import difference_intervals

    return difference_intervals(db, best, score).get(("ifr", None))


def _plot(
    score: Score, measure: Measure, highest: float
) -> tuple[tuple[float, float, int, float], ...]:
    """IFR by steps; a length without chains has no point."""
    steps = score.by_step("ifr_by_steps", measure)
    wide, high = PLOT_W - 16, PLOT_H - 14
    return tuple(
        (
            round(8 + (n - 1) / (STEPS[-1] - 1) * wide, 1),
            round(4 + high * (1 - (value.value or 0.0) / highest), 1),
            n,
            value.value or 0.0,
        )
        for n, value in sorted(steps.items())
        if value.n
    )


def _verdict(table: Sequence[MethodRow], look: BestMethod | None) -> str:
    """Return the best method on this fact, and the chance that the next one differs, in words."""
    if look is None:
        return "No edit of this fact is scored yet."
    best = look.score
    if not look.kept:
        least = f" Least damage: {best.method}." if took(best, best.measures[0]) else ""
        why = f"{look.why[0].upper()}{look.why[1:]}"
        return f"No method changed this fact and kept the model.{least} {why}"
    rivals = [row for row in table if row.word.kind in ("worked", "leaks") and row.took]
    rivals = [row for row in rivals if row.score.edit != best.edit]
    if not rivals:
        return f"{best.method}: {look.why}"
    row = rivals[0]
    name = row.score.method
    gap = row.here or 0.0
    if gap == 0:
        first = f"{best.method} and {name} leak equally on this fact."
    else:
        first = f"{best.method} leaks least on this fact; {name}, the next, has {gap:.3f} more IFR."
    return f"{first} {_real(row.over, best.method, name)}"


def _real(over: Difference | None, best: str, name: str) -> str:
    if over is None:
        return "Whether that holds for other facts is unknown: no other fact has both methods."
    n = count_words(over.n, "rewrite")
    if over.beyond_rewrites is None:
        return paired_verdict([over])
    direction = "more" if over.value > 0 else "less"
    real = "exceeds chance" if over.beyond_rewrites else "is within chance"
    return (
        f"Over the {n} that both have, {name} leaks {direction} than {best} by"
        f" {difference_text(over)}, which {real}."
    )


# Values of the comparison of edits: the table and the chains.

MOST = 12
"""Edits that are compared at most."""
COMPARED = (
    "efficacy", "generalization", "ifr", "ifr_beyond_subject", "preservation", "subject_retention",
)  # fmt: skip
"""The metrics of the table."""


def side_by_side(
    db: Database, edits: Sequence[str], measure: Measure | None, which: matrix.Which, page: int
) -> dict[str, Any]:
    """Return the scores of edits as columns, and their chains where they have the same.

    Raises:
        NotFoundError, NothingStoredError: an edit is unknown or unscored.
        UsageError: they are fewer than two, more than `MOST` or of several data sets, or have no
            measure in common.
    """
    edits = list(dict.fromkeys(edits))
    if not 2 <= len(edits) <= MOST:
        raise UsageError(
            f"Two to {MOST} edits are compared; {len(edits)} are named.",
            remedy="Tick them in the list of edits.",
        )
    scores = list({s.edit: s for s in (record.get_score(db, edit) for edit in edits)}.values())
    sets = sorted({score.dataset for score in scores})
    if len(sets) > 1:
        raise UsageError(
            f"The edits are of several data sets ({', '.join(sets)}): they share no facts.",
            remedy="Compare edits of one data set.",
        )
    common = [m for m in MEASURE_NAMES if all(m in score.measures for score in scores)]
    if not common:
        raise UsageError(
            "The edits have no measure in common.", remedy="Score one of them again as the others."
        )
    by: Measure = measure if measure in common else first(common)
    alike = len({(s.subject, s.target_true) for s in scores}) == 1
    models = len({s.model for s in scores}) > 1
    one_fact = len({s.rewrite for s in scores}) == 1
    placed = figure_style.places(score.method for score in scores)
    columns = [
        (s, charts.Series(f"{s.method} · {s.model}" if models else s.method, i, placed[s.method]))
        for i, s in enumerate(scores)
    ]
    states = [f"{posted(s)['model']}+edit:{s.edit}" for s in scores]
    return {
        "columns": columns,
        "one_fact": one_fact,
        "measures": common,
        "measure": by,
        "metrics": [name for name in COMPARED if any(s.get(name, by) for s in scores)],
        "grid": matrix.shown(matrix.read(db, scores, by), which, page) if alike else None,
        "bands": matrix.BANDS,
        "command": shlex.join(
            ["thinkeval", "compare", *states, "-g", sets[0], "-r", scores[0].rewrite]
        )
        if one_fact
        else "",
    }
