"""The leak cut that a user asks for: of a scored edit, or of a rewrite before any edit.

Command line, REST, page, client and Python all come here, so that they have the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...editing import registry
from ...editing.errors import UnknownMethodError
from ..base.errors import NotFoundError, NothingStoredError, UsageError
from ..graphs import datasets
from ..graphs.requests import OwnRewrite, rewrites
from ..models.edit import Measure, Score
from ..models.leakcut import BudgetOut, CutIn, CutOut, RuleCutOut
from ..reports.edit import measure_of
from ..rules.groundings import rules_for
from ..scoring import record
from . import budget, cut, keys, leaks
from .cut import Kind
from .hitting_set import ProofProblem
from .keys import Keys
from .leaks import Leaks, with_facts

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...loaders.records import RewriteRequest
    from ..rules.store import StoredRule
    from ..scoring.runtime import Runtime


DEFAULTS = CutIn()
"""A cut without any option."""


MARKS = CutIn(alternatives=0, seconds=2.0)
"""The cut whose facts leakage maps mark: a drawing does not wait for a better one."""


def marked(db: Database, score: Score, measure: Measure) -> frozenset[str]:
    """Ids of the leak cut's facts in the edit's graph, as leakage maps mark them; none without it.

    An append, a measure that was not taken, and an edit through which nothing leaks have none.
    """
    if score.append is not None:
        return frozenset()
    try:
        cut = edit_cut(db, score, measure, MARKS)
    except (NotFoundError, UsageError):
        return frozenset()
    return frozenset(f"{score.edit}|{fact.id}" for fact in cut.facts)


def leak_cut(
    runtime: Runtime,
    name: str,
    *,
    graph: str | None = None,
    measure: Measure | None = None,
    **options: Any,
) -> CutOut:
    """The fewest further facts whose change closes every chain that leaks.

    Args:
        name, graph, measure: as `cut_of` takes them.
        options: leak, max_steps, lock, keys, budget ... as `CutIn` has them.

    Raises:
        NotFoundError, NothingStoredError, UsageError: as `cut_of`.
    """
    return cut_of(runtime.db, name, CutIn(**options), graph=graph, measure=measure)


def cut_of(
    db: Database,
    name: str,
    options: CutIn = DEFAULTS,
    *,
    graph: str | None = None,
    measure: Measure | None = None,
) -> CutOut:
    """Return the cut of the edit or rewrite that a user names.

    Args:
        name: id of a scored edit; with a graph, id or subject of one of its rewrites.
        graph: a data set; one that ships with ThinkEval is imported.
        measure: of an edit's probabilities; None: the first that was taken.

    Raises:
        NotFoundError, NothingStoredError: no such edit or rewrite, or it has no score.
        UsageError: as `edit_cut`; a measure of a graph that has no probabilities.
    """
    if graph is None:
        score = record.get_score(db, name)
        return edit_cut(db, score, measure_of(score, measure), options)
    datasets.get_or_import(db, graph)
    (rewrite,) = rewrites(db, graph, [name], OwnRewrite(), everything=False)
    return rewrite_cut(db, graph, rewrite, options)


def edit_cut(db: Database, score: Score, measure: Measure, options: CutIn = DEFAULTS) -> CutOut:
    """The cut of the chains that a scored edit left.

    Raises:
        NotFoundError: a locked fact that is on no chain.
        UsageError: an append, a measure that was not taken, or options that exclude each other.
    """
    found = leaks.of_edit(db, score, measure, options.max_steps)
    kind = key_kind(score.method)
    stored_keys = keys.read(db, score.edit) if (options.keys, kind) == ("auto", "subject") else None
    return _cut(db, found, options, "measured" if stored_keys else kind, stored_keys)


def rewrite_cut(
    db: Database, graph: str, rewrite: RewriteRequest, options: CutIn = DEFAULTS
) -> CutOut:
    """The cut of all chains of a rewrite in its data set, before any edit.

    Raises:
        NotFoundError, UsageError: as `edit_cut`.
    """
    found = leaks.of_rewrite(db, graph, rewrite, options.max_steps)
    return _cut(db, found, options, "off")


def key_kind(method: str) -> Kind:
    """Return the meaning of `keys: auto` for a method: one fact a subject, or no limit.

    Where a co-edit has measured the keys of an edit's facts, one fact a key. A method that is not
    installed here any more has no limit.
    """
    try:
        return "subject" if registry.writes_at_subject(method) else "off"
    except UnknownMethodError:
        return "off"


def _cut(
    db: Database, found: Leaks, options: CutIn, kind: Kind, keys: Keys | None = None
) -> CutOut:
    rules: Sequence[StoredRule] = ()
    proofs, why = None, None
    if options.rules:
        try:
            rules = rules_for(db, found.graph)
            proofs = leaks.proofs(db, found, rules)
            found = with_facts(db, found, proofs.facts)
        except NothingStoredError as error:
            why = error.detail
    made = cut.leak_cut(found, options, keys=keys, kind=kind, proofs=proofs)
    if options.rules:
        made = made.model_copy(update={"rules": _rules(made, len(rules), proofs, why)})
    if options.budget is not None:
        made = made.model_copy(update={"budget": _budget(found, options, kind, keys)})
    return _with_names(made, found)


def _rules(made: CutOut, n_rules: int, proofs: ProofProblem | None, why: str | None) -> RuleCutOut:
    if proofs is None:
        return RuleCutOut(rules=0, atoms=0, groundings=0, why=why)
    return RuleCutOut(
        rules=n_rules,
        atoms=len({*proofs.facts.values(), *(one.conclusion for one in proofs.groundings)}),
        groundings=len(proofs.groundings),
        facts=[fact.id for fact in made.facts if not fact.alone],
    )


def _budget(found: Leaks, options: CutIn, kind: Kind, keys: Keys | None) -> BudgetOut:
    """Return the curve of IFR over all its chains, leaking or not."""
    limits = cut.constraints(found, options, keys=keys, kind=kind)
    problem = limits.problem(found.counted, options.efficacy)
    curve = budget.curve(problem, options.budget or 1, limit_s=options.seconds)
    return BudgetOut(ifr=curve.ifr, points=list(curve.points), draws=curve.draws, note=curve.note)


def _with_names(made: CutOut, found: Leaks) -> CutOut:
    """The cut with the parts of every fact that it names by its id."""
    points = made.budget.points if made.budget else []
    named = {
        *(fact.id for fact in made.facts),
        *(fact for path in made.open for fact in path.facts),
        *(fact for other in made.alternatives for fact in other),
        *(fact for point in points for fact in point.facts),
    }
    rows = {id: found.facts[id] for id in sorted(named & found.facts.keys())}
    parts = {id: (row.subject, row.relation, row.object) for id, row in rows.items()}
    return made.model_copy(update={"names": parts})
