"""Scores that a table of methods is over, and families of dependent rewrites."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from ...cypher import rows
from ..base.errors import UsageError
from ..base.formatting import pluralize
from ..graphs import datasets
from ..graphs.requests import of_one_kind
from ..models.edit import Score, ScoringOptions
from ..scoring.metrics import case_of

if TYPE_CHECKING:
    from ...cypher.run import Database


# Families of rewrites: rewrites whose chains share facts are no independent measurements.
#
# Two rewrites are of one family if they have one subject, or if a fact is on chains of both, or if
# they are linked by others that are: the connected components. KnowGIC's 26 rewrites are 21
# families (three of Hogwarts, three of the Presleys, two of the Beckhams). Intervals and tests over
# rewrites are over families.


def families(db: Database, scores: Sequence[Score]) -> dict[str, str]:
    """{edit: its family, named after one of its rewrites}, read off one edit graph a rewrite.

    The chains are those of the score's own options. An edit whose graph is not stored shares
    nothing with other rewrites.
    """
    asked: dict[ScoringOptions, dict[str, Score]] = defaultdict(dict)
    for score in scores:
        asked[score.options].setdefault(_rewrite(score), score)
    facts = {_rewrite(score): {f"{score.dataset}|of {score.subject}"} for score in scores}
    for options, by_rewrite in asked.items():
        of = {score.edit: rewrite for rewrite, score in by_rewrite.items()}
        cases = [case_of(score) for score in by_rewrite.values()]
        for row in db.read(
            rows.ChainFactsRow,
            "chains/facts",
            cases=cases,
            max_steps=options.max_steps,
            bare=options.bare,
        ):
            facts[of[row.id]].update(f"{_dataset(of[row.id])}|{fact}" for fact in row.facts)
    named = components(facts)
    return {score.edit: named[_rewrite(score)] for score in scores}


def unrelated(db: Database, graph: str, scored: Collection[str], n: int) -> list[str]:
    """Name up to n rewrites of a data set that share no chain fact with those scored, or another.

    Raises:
        UsageError: there is none.
    """
    requests = {r.id: r for r in of_one_kind(datasets.list_rewrites(db, graph)) if r.target_new}
    facts = {id: {f"of {request.subject}"} for id, request in requests.items()}
    cases = [datasets.case(graph, request) for request in requests.values()]
    for row in db.read(rows.ChainFactsRow, "chains/facts", cases=cases):
        facts[row.id].update(row.facts)
    family = components(facts)
    found: dict[str, str] = {family[id]: "" for id in scored if id in family}
    for id in requests:
        found.setdefault(family[id], id)
    names = [id for id in found.values() if id]
    if not names:
        raise UsageError(
            f"{graph} has no further fact that is unrelated to those scored.",
            remedy="Import a data set with more facts, and score the methods on it.",
        )
    return names[:n]


def family_of(score: Score, families: Mapping[str, str]) -> str:
    """The family of a score's rewrite; by default each rewrite is one."""
    return families.get(score.edit, _rewrite(score))


def components(facts: Mapping[str, Collection[str]]) -> dict[str, str]:
    """{item: the first item of its component}; items with a common fact are of one component."""
    parent = {item: item for item in facts}

    def root(item: str) -> str:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    first: dict[str, str] = {}
    for item, found in facts.items():
        for fact in found:
            other = root(first.setdefault(fact, item))
            parent[root(item)] = other
    names: dict[str, str] = {}
    for item in facts:
        names.setdefault(root(item), item)
    return {item: names[root(item)] for item in facts}


def _rewrite(score: Score) -> str:
    return f"{score.dataset}|{score.rewrite}"


def _dataset(rewrite: str) -> str:
    return rewrite.split("|", 1)[0]


# A method that was scored on one easy rewrite looks better than one that was scored on all of
# them. So methods of one model are compared over their common rewrites, and a warning names the
# others.

Rewrites = Literal["common", "all"]
"""Rewrites of a comparison: those that all methods have, or each method's own."""

COUNTED = 0.5
"""Methods whose efficacy does not exceed this changed too little to be ranked by IFR."""

NAMED = 10
"""Rewrites that a warning names at most."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The scores of a table of methods.

    Attributes:
        scores: those that the rows are taken over.
        families: {edit: family of its rewrite}.
        left_out: {model: rewrites that some method of the model lacks}; their scores are not in
            `scores`, unless all were asked for or no rewrite is common.
        warnings: sentences for the reader; empty where all methods have the same rewrites.
        comparable: True if the methods of each model are over the same rewrites.
    """

    scores: list[Score]
    families: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, list[str]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    comparable: bool = True


def compare(
    db: Database,
    scores: Sequence[Score],
    measure: str,
    chosen: Rewrites = "common",
    notes: Sequence[str] = (),
) -> Comparison:
    """The scores by which methods are compared, with the families of their rewrites.

    Args:
        notes: sentences on the choice of the scores, which are warnings too.
    """
    found = common(scores, measure, chosen)
    return replace(found, families=families(db, found.scores), warnings=(*notes, *found.warnings))


def common(scores: Sequence[Score], measure: str, chosen: Rewrites = "common") -> Comparison:
    """The scores over the rewrites that all methods of a model have; without families.

    Scores of a model that were asked by another protocol than most are left out, by name. A method
    without any score of the measure has an empty row in any case and limits nothing.
    Scores of requests of another kind (appended answers, forgotten facts), which have other
    metrics, are left out; so are comparisons of two states, where there is an edit beside them.

    Args:
        chosen: `all` keeps each method's own rewrites; the warning stays.
    """
    models: dict[str, dict[str, list[Score]]] = defaultdict(lambda: defaultdict(list))
    asked = {id(s): s.protocols.get(measure) for s in scores}
    taken, refused = one_protocol(
        ((s.model,), protocol) for s in scores if (protocol := asked[id(s)]) is not None
    )
    scores = [s for s in scores if asked[id(s)] in (None, taken.get((s.model,)))]
    replacing = [score for score in scores if score.kind == "replace"]
    edits = [score for score in replacing if "comparison" not in score.provenance]
    n_compared = len(replacing) - len(edits) if edits else 0
    replacing = edits or replacing
    for score in replacing:
        models[score.model][score.method].append(score)
    used, left_out, warnings, comparable = set(), {}, list(refused), True
    shared_by_model = []
    for model, methods in models.items():
        has = {
            method: {s.rewrite for s in group if measure in s.measures}
            for method, group in methods.items()
        }
        has = {method: found for method, found in has.items() if found}
        every = sorted(set().union(*has.values()))
        shared = set(every).intersection(*has.values())
        shared_by_model.append(frozenset(shared))
        partial = [rewrite for rewrite in every if rewrite not in shared]
        if partial:
            left_out[model] = partial
            where = f"{model}: " if len(models) > 1 else ""
            warnings.append(where + _warning(has, len(every), shared, partial, chosen))
        keep = shared if shared and chosen == "common" else set(every)
        comparable &= not partial or keep == shared
        used |= {s.edit for group in methods.values() for s in group if s.rewrite in keep}
        used |= {s.edit for method, group in methods.items() if method not in has for s in group}
    if len(set(shared_by_model)) > 1:
        warnings.append("The models were scored on different rewrites; compare within a model.")
    chosen_scores = [score for score in replacing if score.edit in used]
    if n_compared:
        warnings.append(
            f"{pluralize(n_compared, 'comparison')} of two states left out, as it is no edit by a"
            " method; `thinkeval report EDIT` has the table of one."
        )
    if len(replacing) + n_compared < len(scores):
        left = pluralize(len(scores) - len(replacing) - n_compared, "score")
        warnings.append(
            f"{left} of appended answers or forgotten facts left out: they have other metrics."
        )
    return Comparison(chosen_scores, {}, left_out, tuple(warnings), comparable)


def one_protocol(
    asked: Iterable[tuple[tuple[str, ...], str]],
) -> tuple[dict[tuple[str, ...], str], list[str]]:
    """The protocol id that most values of each place have, and sentences on the others.

    Args:
        asked: place (the model, and a form) and protocol id of each value.
    """
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for place, protocol in asked:
        counts[place][protocol] += 1
    taken = {place: found.most_common(1)[0][0] for place, found in counts.items()}
    return taken, [
        f"{', '.join(place)}: {pluralize(n, 'edit')} left out, asked by {protocol}, which is not"
        f" comparable with {taken[place]}."
        for place, found in counts.items()
        for protocol, n in found.items()
        if protocol != taken[place]
    ]


def _warning(
    has: Mapping[str, set[str]],
    n_rewrites: int,
    shared: set[str],
    partial: Sequence[str],
    chosen: Rewrites,
) -> str:
    """Return the warning: methods or rewrites left out, or why there is no comparison.

    Args:
        has: {method: its rewrites}.
        n_rewrites: of all methods together.
        shared: rewrites that all methods have.
        partial: the others.
    """
    counts = ", ".join(f"{method} {len(found)}" for method, found in sorted(has.items()))
    differ = f"The methods were scored on different rewrites ({counts} of {n_rewrites})."
    if not shared:
        return f"{differ} No rewrite is common to all of them: the rows cannot be compared."
    if chosen == "all":
        return (
            f"{differ} Each row is over its own rewrites; compare only over the"
            f" {pluralize(len(shared), 'common rewrite')}."
        )
    names = ", ".join(partial[:NAMED])
    more = f" and {len(partial) - NAMED} more" if len(partial) > NAMED else ""
    return (
        f"{differ} Compared over the {pluralize(len(shared), 'rewrite')} that all have; left out:"
        f" {pluralize(len(partial), 'rewrite')} ({names}{more})."
    )
