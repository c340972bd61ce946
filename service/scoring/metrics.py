"""Step 6 of a score: every metric file, read off the stored edit graph, for every measure taken.

A score that is older than a headline metric lacks it; `completed` reads it off the same graph.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ... import cypher
from ...cypher import rows
from ...cypher.browser import param_lines
from ...cypher.catalog import over_chains
from ...cypher.errors import UnknownGraphError
from ...cypher.metric_options import headlines, of_kind
from ...loaders.records import RequestKind
from ..base.errors import UsageError
from ..base.formatting import pluralize
from ..graphs.datasets import require_graph
from ..models.edit import MetricValue, Score, ScoringOptions

if TYPE_CHECKING:
    from ...cypher.run import Database
    from .request import ScoreRequest


PREFIX = "metrics/"

_CasesOf: TypeAlias = dict[tuple[str, RequestKind, ScoringOptions], list[Mapping[str, Any]]]
"""Cases of one query together: by measure, kind of request and options."""


def measure(db: Database, edit: str, request: ScoreRequest) -> list[MetricValue]:
    """All metrics of one edit. A metric is a file: one more file is one more line here.

    Of each kind of request only those that its header names (`kinds:`).
    """
    return measure_each(db, {edit: request})[edit]


def measure_each(
    db: Database, requests: Mapping[str, ScoreRequest]
) -> dict[str, list[MetricValue]]:
    """All metrics of several edits that were probed alike, by edit; each query is sent once a kind.

    Args:
        requests: by edit, with the same options of scoring.
    """
    cases_of: _CasesOf = defaultdict(list)
    options = next(iter(requests.values())).options
    for edit, request in requests.items():
        r = request.rewrite
        # One edit may lack the sampled measure: every sample of one of its facts is undecided.
        for measure in require_graph(db, edit, kind="edit").measures:
            case = _case(edit, r.subject, r.target_true, r.relation)
            cases_of[measure, r.kind, options].append(case)
    return _read_all(db, requests, cases_of)


def completed(db: Database, scores: Sequence[Score]) -> list[Score]:
    """The scores with every headline metric, in their order.

    A stored score lacks the metrics that came after it (its record lists the queries of its time);
    they are read off its edit graph, by the options it was scored with. Without a graph it stays
    as it is. Nothing is written.
    """
    lacking: dict[tuple[str, str, ScoringOptions], list[int]] = defaultdict(list)
    for place, score in enumerate(scores):
        queries = score.provenance.get("queries")
        taken = of_kind(score.kind)
        later = [m for m in headlines() if m in taken and queries and PREFIX + m not in queries]
        for metric, measure in itertools.product(later, score.measures):
            if not any((v.metric, v.measure) == (metric, measure) for v in score.values):
                lacking[metric, measure, score.options].append(place)
    out = list(scores)
    for (metric, measure, options), places in lacking.items():
        edits = {scores[i].edit: scores[i] for i in places}.values()
        cases = [case_of(score) for score in edits]
        found = _read_again(db, metric, cases, _pool(options, measure))
        for i in places:
            more = [
                _value(metric, measure, row, options.max_steps)
                for row in found
                if row.id == out[i].edit
            ]
            out[i] = out[i].model_copy(update={"values": [*out[i].values, *more]})
    return out


def read_again(db: Database, scores: Sequence[Score]) -> dict[str, list[MetricValue]]:
    """The metrics that the edit graphs of stored scores give now, by edit; nothing is written."""
    cases_of: _CasesOf = defaultdict(list)
    for score in scores:
        for measure in score.measures:
            cases_of[measure, score.kind, score.options].append(case_of(score))
    return _read_all(db, [score.edit for score in scores], cases_of)


def _read_all(
    db: Database, edits: Iterable[str], cases_of: _CasesOf
) -> dict[str, list[MetricValue]]:
    """All metrics of the cases, by edit."""
    values: dict[str, list[MetricValue]] = {edit: [] for edit in edits}
    for (measure, kind, options), cases in cases_of.items():
        found = db.metrics(sorted(of_kind(kind)), cases=cases, **_pool(options, measure))
        for metric, read in found.items():
            for row in read:
                values[row.id].append(_value(metric, measure, row, options.max_steps))
    return values


def _read_again(
    db: Database, metric: str, cases: Sequence[Mapping[str, Any]], pool: Mapping[str, Any]
) -> list[rows.MetricRow]:
    """The rows of the cases whose graph is stored."""
    try:
        return db.metric(metric, cases=list(cases), **pool)
    except UnknownGraphError:
        if len(cases) == 1:
            return []
        return [row for case in cases for row in _read_again(db, metric, [case], pool)]


def _value(metric: str, measure: str, row: rows.MetricRow, max_steps: int) -> MetricValue:
    return MetricValue(
        metric=metric,
        measure=measure,
        step=row.step,
        value=row.value,
        n=row.n,
        excluded=row.excluded,
        reason=_reason(metric, row, max_steps) if row.value is None else None,
    )


def _reason(metric: str, row: rows.MetricRow, max_steps: int) -> str:
    """Return the reason why a metric is undefined: no fact, chain or prompt, or none known."""
    display = cypher.query(PREFIX + metric).display
    over = display.over if display else "fact"
    if row.excluded:
        return f"the model knows 0 of {pluralize(row.excluded, over)}"
    if over == "chain":
        facts = f"{max_steps} facts" if row.step is None else pluralize(row.step, "fact")
        return f"no chain of {'at most ' * (row.step is None)}{facts} leads to the old object"
    return {"prompt": "no such prompt was asked"}.get(over, "the graph has no such fact")


def chain_rows(
    db: Database,
    score: Score,
    measure: str,
    *,
    surviving: bool = False,
    steps: int | None = None,
) -> list[rows.ScoredChainRow]:
    """The chains of a scored edit: the surviving ones first, then the largest part of IFR."""
    found = db.read(rows.ScoredChainRow, "chains/scored", **_chain_params(db, score, measure))
    return [
        row
        for row in found
        if (row.surviving or not surviving) and (steps is None or row.steps == steps)
    ]


def chain_facts(db: Database, score: Score) -> frozenset[str]:
    """Ids of the facts on the chains of a scored edit, parallel ones too, as in the data set."""
    options = score.options
    found = db.read(
        rows.ChainFactsRow, "chains/facts",
        cases=[case_of(score)], max_steps=options.max_steps, bare=options.bare,
    )  # fmt: skip
    return frozenset(fact for row in found for fact in row.facts)


def leakage_rows(db: Database, score: Score, measure: str) -> list[rows.LeakageRow]:
    """The facts of a scored edit by how many surviving chains they carry."""
    params = _chain_params(db, score, measure)
    return db.read(rows.LeakageRow, "chains/leakage", **params)


def changed_facts(db: Database, score: Score, measure: str, limit: int) -> list[rows.ChangedFact]:
    """Return the facts that a scored edit changed most, without the edited one.

    Facts outside the chains were asked by likelihood alone.
    """
    options = score.options.counted
    found = db.read(
        rows.ChangedFact, "states/changed_facts", graph=score.edit, known=options["known"],
        pre=f"{measure}_pre", post=f"{measure}_post", roles=["fact", "subject", "outside"],
        limit=limit + 1,
    )  # fmt: skip
    edited = (score.subject, score.relation, score.target_true)
    return [row for row in found if (row.subject, row.relation, row.object) != edited][:limit]


def query_params(db: Database, score: Score, measure: str, name: str) -> dict[str, Any]:
    """The parameters of a query of `metrics/` or `chains/` for this edit, by name.

    Raises:
        UsageError: the query takes a parameter that an edit does not decide.
    """
    pool = _chain_params(db, score, measure) | _pool(score.options, measure)
    pool |= {"edit": score.edit, "measure": measure}
    pool["cases"] = [case_of(score)]
    taken = of_kind(score.kind)
    pool["metrics"] = [m for m in over_chains() if m.removeprefix(PREFIX) in taken]
    declared = cypher.query(name).params
    params = {key: pool.get(key, param.default) for key, param in declared.items()}
    open_ = [key for key, param in declared.items() if param.required and key not in pool]
    if open_:
        raise UsageError(
            f"{name} is not about one edit: it takes ${', $'.join(open_)}.",
            remedy="Queries of metrics/, chains/ and explore/ are; print others without --edit.",
        )
    return params


def browser_text(db: Database, score: Score, measure: str, name: str) -> str:
    """A query with its parameters as `:param` lines, to paste into Neo4j Browser in two steps.

    The Browser shows no result of a statement between commands, hence two.
    """
    params = query_params(db, score, measure, name)
    steps = ("// 1. paste the next lines and press the arrow", "// 2. then this query")
    text = cypher.query(name).text.rstrip()
    return "\n".join([steps[0], param_lines(name, **params), "", steps[1], text])


def _pool(options: ScoringOptions, measure: str) -> dict[str, Any]:
    return {
        "max_steps": options.max_steps,
        "pre": f"{measure}_pre",
        "post": f"{measure}_post",
        "bare": options.bare,
        "threshold": options.threshold_for(measure),
        "unit": options.unit,
        "parallel": options.parallel,
        **options.counted,
    }


def case_of(score: Score) -> Mapping[str, Any]:
    """The edit as one of the `$cases` of a query, under its id."""
    return _case(score.edit, score.subject, score.target_true, score.relation)


def _case(graph: str, subject: str, target_true: str, relation: str) -> Mapping[str, Any]:
    """An edit graph holds nothing but its scope, so no rewrite is named."""
    return {
        "id": graph,
        "graph": graph,
        "subject": subject,
        "object": target_true,
        "relation": relation,
        "rewrite": None,
    }


def _chain_params(db: Database, score: Score, measure: str) -> dict[str, Any]:
    taken = require_graph(db, score.edit, kind="edit").measures
    if measure not in taken:
        raise UsageError(
            f"Edit {score.edit!r} was not measured by {measure!r}.",
            remedy=f"Use --measure {' or '.join(taken)}, or score it again with --samples.",
        )
    pool = _pool(score.options, measure)
    return {
        "graph": score.edit,
        "subject": score.subject,
        "object": score.target_true,
        "relation": score.relation,
        "rewrite": None,
        **{name: value for name, value in pool.items() if name not in ("unit", "rule")},
    }
