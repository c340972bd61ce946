"""Forward closure of a graph: derived by the engine, weighted, and stored in the graph.

A closure is stored under a digest of rules, options and facts, and derived again if one of them has
changed. A large one is written in parts; readers see a complete closure or none. `shown` gives
conclusions with their best proof, and contradictions with the proofs of both sides; `prove` gives
the proofs of one triple.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...cypher.errors import QueryContractError, QueryTooLargeError
from ...loaders.records import digest
from ..base.database import Progress, silent
from ..base.errors import ConflictError, NotFoundError, UsageError
from ..base.formatting import pluralize
from ..base.leases import new_token
from ..graphs.datasets import require_graph
from ..graphs.edges import caption
from ..graphs.write import fenced
from .engine import (
    HEIGHT,
    LEAVES,
    MOST,
    MOST_GROUNDINGS,
    MOST_STEPS,
    STRENGTH,
    Best,
    Sizes,
    by_conclusion,
    ground,
    solve,
    solve_sizes,
)
from .proofs import Prover
from .schemas import (
    ClosureOptions,
    ClosureOut,
    ConclusionOut,
    ContradictionOut,
    Grounding,
    ProofOut,
    Triple,
    factors,
    rules_digest,
)
from .store import StoredRule

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ..graphs.write import Fence, Runs


FORMAT = 3
"""Format of a stored closure; one of an earlier format is derived again."""
MOST_CONCLUSIONS = 1_000_000
"""Maximum number of conclusions."""
IN_ONE = 20_000
"""Maximum number of conclusions and groundings that are stored in one transaction."""
LESS = (
    "Give --depth 1, fewer rules (--rule; `thinkeval graph rules mine --min-confidence`), or"
    " rules with kinds."
)
TIMEOUT_S = 600.0
HEIGHT_OF_PROOF = 4
"""Premises above each other in a proof that is asked for, by default."""
_BATCH = 5000
_TRIES = 3
"""Number of times that a closure is read, or derived, if others replace it meanwhile."""
_NO_PROOF = Best(-1.0)
EDITED = ("target_true", "target_new")


@dataclass(frozen=True, slots=True)
class Bound:
    """The size of the closure that a caller has the time to derive.

    Attributes:
        groundings: maximum number.
        facts: maximum number that take part; None for any.
        remedy: how to get a larger closure.
    """

    groundings: int = MOST_GROUNDINGS
    facts: int | None = None
    remedy: str = LESS


WHOLE = Bound()


@dataclass(frozen=True, slots=True)
class Closure:
    """A stored closure.

    Attributes:
        atoms: conclusions, and the facts with a relation of the rules, by id.
        groundings: the stored groundings, with triples.
        rounds: number of rounds.
    """

    graph: str
    options: ClosureOptions
    rules: Sequence[StoredRule]
    atoms: Mapping[str, rows.AtomRow]
    groundings: Sequence[Grounding]
    rounds: int

    @property
    def conclusions(self) -> list[rows.AtomRow]:
        """Conclusions: strongest before the edit first, then by name."""
        found = [atom for atom in self.atoms.values() if atom.implied]
        return sorted(found, key=lambda a: (-(a.strength_pre or 0.0), triple_of(a)))

    @property
    def note(self) -> str | None:
        """Note of the conclusions whose proofs were not all compared; None if there is none."""
        unknown = sum(atom.implied and not atom.sized for atom in self.atoms.values())
        if not unknown:
            return None
        return (
            f"{pluralize(unknown, 'conclusion')} cannot be counted by number of facts: the rules"
            f" make so many circles that {MOST_STEPS:,} steps do not find the strongest proofs."
        )

    @property
    def stated(self) -> set[Triple]:
        """The triples that are facts, of the relations of the rules."""
        return {triple_of(atom) for atom in self.atoms.values() if not atom.implied}


def triple_of(atom: rows.AtomRow) -> Triple:
    """Subject, relation, object."""
    return (atom.subject, atom.relation, atom.object)


def closure(
    db: Database,
    graph: str,
    rules: Sequence[StoredRule],
    options: ClosureOptions | None = None,
    *,
    bound: Bound = WHOLE,
    fence: Fence | None = None,
    progress: Progress = silent,
) -> Closure:
    """The closure of a graph of any kind, derived if it is not stored.

    Args:
        fence: called within every transaction that writes; raises to have it rolled back.

    Raises:
        NotFoundError: no such graph.
        UsageError: the closure is not stored, and exceeds the bound.
        ConflictError: the facts, or another process, have changed it meanwhile.
        Exception: raised by `fence`.
    """
    require_graph(db, graph, kind=None)
    options = options or ClosureOptions()
    changed: Exception | None = None
    for _ in range(_TRIES):
        name, state = _state(db.read, graph, rules, options)
        if state.closure != name:
            made = _made(db.read, db, graph, rules, options, state, bound, progress)
            progress(3, 4, "closure: storing")
            _replace(db, graph, rules, options, name, made, fence)
        try:
            with db.reading() as tx:
                found = _read(tx.run, graph, rules, options)
                if _state(tx.run, graph, [], options)[1].closure == name:
                    return found
        except (KeyError, QueryContractError) as error:  # a conclusion that is deleted meanwhile
            changed = error
    raise ConflictError(
        f"The closure of {graph!r} was replaced while it was read.", remedy="Repeat this."
    ) from changed


@contextmanager
def transaction(db: Database, graph: str, rules: Sequence[StoredRule]) -> Iterator[Tx]:
    """A transaction with the time limit of closures.

    Raises:
        UsageError: the closure does not fit into the server's memory.
    """
    try:
        with db.transaction(timeout_s=TIMEOUT_S) as tx:
            yield tx
    except QueryTooLargeError as error:
        raise UsageError(
            f"The closure of {graph!r} by {pluralize(len(rules), 'rule')} does not fit into one"
            " transaction of the server; nothing was stored.",
            remedy=f"{LESS} Or give the server more memory (db.memory.transaction.max).",
        ) from error


def within(
    tx: Tx,
    db: Database,
    graph: str,
    rules: Sequence[StoredRule],
    options: ClosureOptions | None = None,
) -> Closure:
    """The closure of a small graph, inside an open `transaction` that later queries share.

    Only facts are read whose relation is in a rule: no others take part.

    Raises:
        UsageError: the closure is too large.
    """
    options = options or ClosureOptions()
    name, state = _state(tx.run, graph, rules, options)
    if state.closure != name:
        tx.run(rows.ClearClosureRow, "closure/clear", graph=graph)
        made = _made(tx.run, db, graph, rules, options, state, WHOLE, silent)
        _store(tx.run, graph, made)
        tx.run(str, "closure/complete", graph=graph, closure=name)
    return _read(tx.run, graph, rules, options)


def is_stored(
    db: Database, graph: str, rules: Sequence[StoredRule], options: ClosureOptions
) -> bool:
    """Return True if the closure is stored already."""
    name, state = _state(db.read, graph, rules, options)
    return state.closure == name


def _state(
    run: Runs, graph: str, rules: Sequence[StoredRule], options: ClosureOptions
) -> tuple[str, rows.ClosureStateRow]:
    """Return the name of the closure of the facts, and the state of the stored one."""
    about = _about(rules, options)
    (state,) = run(rows.ClosureStateRow, "closure/state", graph=graph, **about)
    parts = [
        FORMAT,
        rules_digest(rules),
        options.model_dump(),
        state.facts,
        state.probed,
        repr(state.total),
    ]
    return digest(parts), state


Made = tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]
"""The rows of conclusions, and of groundings."""


def _made(
    run: Runs,
    db: Database,
    graph: str,
    rules: Sequence[StoredRule],
    options: ClosureOptions,
    state: rows.ClosureStateRow,
    bound: Bound,
    progress: Progress,
) -> Made:
    """Derive a closure and weigh its proofs; store nothing.

    Only facts are read whose relation is in a rule: no others take part.
    """
    if bound.facts is not None and state.facts > bound.facts:
        raise _too_large(graph, f"{state.facts:,} facts take part", bound)
    progress(0, 4, "closure: reading facts")
    about = _about(rules, options)
    facts = run(rows.AtomRow, "closure/atoms", graph=graph, implied=False, **about)
    kinds: Mapping[str, str | None] = {}
    if any(stored.rule.kinds for stored in rules):
        kinds = entity_kinds(db, graph, require_graph(db, graph, kind=None).dataset)
    progress(1, 4, "closure: deriving")
    derived = _derive(graph, facts, rules, kinds, options, bound)
    progress(2, 4, "closure: weighing proofs")
    conclusions = _weigh(graph, facts, derived, options)
    return conclusions, _supported(graph, conclusions, derived)


def _about(rules: Sequence[StoredRule], options: ClosureOptions) -> dict[str, Any]:
    """Return what facts are read by."""
    return {
        "pre": f"{options.measure}_pre",
        "post": f"{options.measure}_post",
        "relations": relations_of(rules),
    }


def relations_of(rules: Sequence[StoredRule]) -> list[str]:
    """The relations of rules, in order."""
    return sorted({name for stored in rules for name in stored.rule.relations if name})


def entity_kinds(db: Database, graph: str, dataset: str) -> dict[str, str | None]:
    """Return {entity: its kind}, by default its kind in the data set."""
    mine = db.read(rows.EntityRow, "graph/entities", graph=graph)
    if dataset == graph:
        return {e.name: e.kind for e in mine}
    typed = {e.name: e.kind for e in db.read(rows.EntityRow, "graph/entities", graph=dataset)}
    return {e.name: e.kind or typed.get(e.name) for e in mine}


def _derive(
    graph: str,
    facts: Sequence[rows.AtomRow],
    rules: Sequence[StoredRule],
    kinds: Mapping[str, str | None],
    options: ClosureOptions,
    bound: Bound,
) -> dict[str, tuple[Grounding, dict[str, Any]]]:
    """Return {id: (grounding, its row)}, sorted by id.

    A premise that several facts state, or a fact and a conclusion, has a row for each.

    Raises:
        UsageError: too many groundings or conclusions.
    """
    ids: dict[Triple, list[str]] = defaultdict(list)
    for fact in facts:
        ids[triple_of(fact)].append(fact.id)
    factor = factors(rules, options)
    try:
        found = ground(ids, rules, kinds, factor, depth=options.depth, most=bound.groundings)
    except UsageError as error:
        raise _too_large(graph, error.detail, bound) from error
    first: dict[Triple, int] = {}
    for one, number in found.items():
        first[one.conclusion] = min(number, first.get(one.conclusion, number))
    if len(first) > MOST_CONCLUSIONS:
        raise _too_large(graph, f"{len(first):,} conclusions, {MOST_CONCLUSIONS:,} at most", bound)
    for triple, number in first.items():
        if options.depth is None or number < options.depth:
            ids[triple].append(_id(graph, triple))
    out = {}
    for one in found:
        for premises in product(*(ids[premise] for premise in one.premises)):
            name = "|".join((graph, one.rule, *(id[len(graph) + 1 :] for id in premises)))
            out[name] = one, {
                "id": name, "rule": one.rule, "premise1": premises[0],
                "premise2": premises[1] if one.second else None,
                "conclusion": _id(graph, one.conclusion),
            }  # fmt: skip
    return dict(sorted(out.items()))


def _too_large(graph: str, reason: str, bound: Bound) -> UsageError:
    return UsageError(
        f"The closure of {graph!r} is too large here: {reason.rstrip('.')}. Nothing was stored.",
        remedy=bound.remedy,
        status=409,
    )


def _id(graph: str, triple: Triple) -> str:
    """Return the id of a conclusion."""
    return f"{graph}|{' | '.join(triple)}"


def _read(run: Runs, graph: str, rules: Sequence[StoredRule], options: ClosureOptions) -> Closure:
    about = _about(rules, options)
    atoms = {atom.id: atom for atom in run(rows.AtomRow, "closure/atoms", graph=graph, **about)}
    factor = factors(rules, options)
    groundings = [
        Grounding(
            row.rule,
            triple_of(atoms[row.premise1]),
            None if row.premise2 is None else triple_of(atoms[row.premise2]),
            triple_of(atoms[row.conclusion]),
            factor[row.rule],
        )
        for row in run(rows.StoredGroundingRow, "closure/groundings", graph=graph)
    ]
    # A premise that is both a fact and a conclusion has two stored groundings with equal triples.
    distinct = list(dict.fromkeys(groundings))
    rounds = max((atom.round for atom in atoms.values()), default=0)
    return Closure(graph, options, rules, atoms, distinct, rounds)


def _weigh(
    graph: str,
    facts: Sequence[rows.AtomRow],
    derived: Mapping[str, tuple[Grounding, Mapping[str, Any]]],
    options: ClosureOptions,
) -> list[dict[str, Any]]:
    """Return the conclusions with their strengths, without those that only a circle supports."""
    ways = by_conclusion(dict.fromkeys(one for one, _ in derived.values()))
    edited = {triple_of(fact) for fact in facts if fact.role in EDITED}
    pre, post = (probabilities(facts, side) for side in ("pre", "post"))
    ones = {triple_of(fact): 1 for fact in facts}
    height = solve(ways, dict.fromkeys(ones, 0), HEIGHT, depth=options.depth)
    leaves = solve(ways, ones, LEAVES, depth=options.depth)
    strong = [solve(ways, values, STRENGTH, depth=options.depth) for values in (pre, post)]
    sizes = [solve_sizes(ways, values, edited) for values in (pre, post)]
    out = []
    for triple, lowest in height.items():
        before, after = (each[triple].value if triple in each else None for each in strong)
        others = [_strengths(each.get(triple, {})) for each in sizes]
        subject, relation, object_ = triple
        out.append({
            "id": _id(graph, triple),
            "subject": subject,
            "relation": relation,
            "object": object_,
            "round": lowest.value,
            "leaves": leaves[triple].value,
            "strength_pre": before,
            "strength_post": after,
            "other_pre": others[0],
            "other_post": others[1],
            "caption": _caption(relation, before, after),
        })  # fmt: skip
    return out


def _strengths(sizes: Sizes) -> list[float] | None:
    """Return the strength of the best proof with 1 to 5 facts, -1 without one; None if unknown."""
    found = [sizes.get(size, _NO_PROOF) for size in range(1, MOST + 1)]
    known = [proof.value for proof in found if proof is not None]
    return known if len(known) == len(found) else None


def _supported(
    graph: str,
    conclusions: Sequence[Mapping[str, Any]],
    derived: Mapping[str, tuple[Grounding, Mapping[str, Any]]],
) -> list[Mapping[str, Any]]:
    """Return the rows of groundings without those of circles."""
    kept = {row["id"] for row in conclusions}
    gone = {_id(graph, one.conclusion) for one, _ in derived.values()} - kept
    return [
        row
        for _, row in derived.values()
        if gone.isdisjoint((row["premise1"], row["premise2"], row["conclusion"]))
    ]


def _store(run: Runs, graph: str, made: Made) -> None:
    for part in _batches(made[0]):
        run(rows.WrittenRow, "closure/write_conclusions", graph=graph, rows=part)
    for part in _batches(made[1]):
        run(rows.WrittenRow, "closure/write_groundings", graph=graph, rows=part)


def _replace(
    db: Database,
    graph: str,
    rules: Sequence[StoredRule],
    options: ClosureOptions,
    name: str,
    made: Made,
    fence: Fence | None,
) -> None:
    """Replace the closure of a graph: in one transaction, or a large one in parts.

    No reader finds a closure until its last part is stored. The parts of a process that was killed
    are deleted by the next one, and of two processes the one that began later stores its own.

    Raises:
        ConflictError: the facts, or another process, have changed it meanwhile.
        Exception: raised by `fence`.
    """
    token = new_token() if len(made[0]) + len(made[1]) > IN_ONE else None
    overtaken = ConflictError(
        f"Another process began to store a closure of {graph!r}, or the graph was replaced or"
        " deleted; this closure is not stored.",
        remedy="Repeat this after the other process is done.",
    )

    def hold(run: Runs) -> rows.HeldClosureRow:
        """Lock the closure until the transaction ends."""
        found = run(rows.HeldClosureRow, "closure/hold", graph=graph)
        if not found:
            raise overtaken
        if fence is not None:
            fence(run)
        return found[0]

    def clear(tx: Tx) -> bool:
        return hold(tx.run).closure != name and _clear(tx.run, graph, token)

    def go_on(run: Runs) -> None:
        if hold(run).token != token:
            raise overtaken

    def end(tx: Tx) -> None:
        held = hold(tx.run)
        if token and held.token != token:
            raise overtaken
        if _state(tx.run, graph, rules, options)[0] != name:
            raise ConflictError(
                f"The facts of {graph!r} have changed meanwhile; its closure is not stored.",
                remedy="Repeat this.",
            )
        if held.closure == name:  # another process has stored the same one
            return
        if not token:
            tx.run(rows.ClearClosureRow, "closure/clear", graph=graph)
            _store(tx.run, graph, made)
        tx.run(str, "closure/complete", graph=graph, closure=name)

    def give_up(tx: Tx) -> bool:
        found = tx.run(rows.HeldClosureRow, "closure/hold", graph=graph)
        return [held.token for held in found] == [token] and _clear(tx.run, graph, token)

    while db.atomically(clear):
        pass
    try:
        if token:
            _store(fenced(db, go_on), graph, made)
        db.atomically(end)
    except BaseException:
        while token and db.atomically(give_up):
            pass
        raise


def _clear(run: Runs, graph: str, token: str | None) -> bool:
    """Delete a part of the stored closure; return True if more may be left."""
    about = {"graph": graph, "token": token, "limit": IN_ONE}
    (gone,) = run(rows.ClearClosureRow, "closure/clear", **about)
    return IN_ONE in (gone.conclusions, gone.groundings)


def _batches(found: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    for start in range(0, len(found), _BATCH):
        yield found[start : start + _BATCH]


def _caption(relation: str, before: float | None, after: float | None) -> str:
    """Label in Neo4j Browser; the sign `therefore` distinguishes conclusions without colours."""
    return f"∴ {relation if before is None else caption(relation, before, after)}"


def probabilities(facts: Sequence[rows.AtomRow], side: str) -> dict[Triple, float]:
    """{triple: probability} of probed facts; of parallel facts the likeliest."""
    out: dict[Triple, float] = {}
    for fact in facts:
        value = fact.strength_pre if side == "pre" else fact.strength_post
        if value is not None:
            out[triple_of(fact)] = max(value, out.get(triple_of(fact), 0.0))
    return out


def prove(
    db: Database,
    graph: str,
    goal: Triple,
    rules: Sequence[StoredRule],
    options: ClosureOptions | None = None,
    *,
    most: int = 20,
    bound: Bound = WHOLE,
    progress: Progress = silent,
) -> list[ProofOut]:
    """Return the proofs of a triple from other facts, strongest first.

    One for each last grounding, of height `options.depth`, by default `HEIGHT_OF_PROOF`, at most.
    The closure that they are read off is derived to the end, and stored if it is new.

    Raises:
        NotFoundError: no such graph, or no such subject, relation or object in it.
        UsageError: the closure is too large.
    """
    options = options or ClosureOptions()
    require_graph(db, graph, kind=None)
    _require(db, graph, goal, rules)
    whole = options.model_copy(update={"depth": None})
    found = closure(db, graph, rules, whole, bound=bound, progress=progress)
    return prover_of(found, options.depth or HEIGHT_OF_PROOF).proofs(goal, most=most)


def _require(db: Database, graph: str, goal: Triple, rules: Sequence[StoredRule]) -> None:
    """Refuse a misspelt goal, which would otherwise silently have no proof."""
    listing = f"thinkeval graph rules closure {graph}"
    names = {entity.name for entity in db.read(rows.EntityRow, "graph/entities", graph=graph)}
    for sort, name in (("subject", goal[0]), ("object", goal[2])):
        if name not in names:
            raise NotFoundError(f"{sort} in {graph!r}", name, names, listing=listing)
    relations = {name for stored in rules for name in stored.rule.relations if name}
    if goal[1] not in relations:
        raise NotFoundError("relation of a rule", goal[1], relations, listing=listing)


MOST_CONTRADICTIONS = 100


def shown(
    db: Database,
    graph: str,
    rules: Sequence[StoredRule],
    options: ClosureOptions | None = None,
    *,
    limit: int = 20,
    new_only: bool = False,
    bound: Bound = WHOLE,
    progress: Progress = silent,
) -> ClosureOut:
    """The closure of a graph, stored if new: the strongest conclusions, each with a proof.

    Args:
        limit: maximum number of conclusions; 0 for all.
        new_only: only conclusions that are no facts of the graph.

    Raises:
        NotFoundError: no such graph.
        UsageError: the closure is too large.
    """
    options = options or ClosureOptions()
    found = closure(db, graph, rules, options, bound=bound, progress=progress)
    stated = found.stated
    listed = [a for a in found.conclusions if not (new_only and triple_of(a) in stated)]
    prover = prover_of(found)
    return ClosureOut(
        graph=graph,
        rules=len(rules),
        options=options,
        rounds=found.rounds,
        groundings=len(found.groundings),
        conclusions=len(found.conclusions),
        stated=sum(triple_of(a) in stated for a in found.conclusions),
        contradictions=_contradictions(db, found, prover),
        items=[_item(a, stated, prover) for a in (listed[:limit] if limit else listed)],
    )


def prover_of(found: Closure, depth: int | None = None) -> Prover:
    """Return proof trees from a stored closure, of the depth of that or of a smaller one."""
    facts = [atom for atom in found.atoms.values() if not atom.implied]
    sides = (probabilities(facts, "pre"), probabilities(facts, "post"))
    return Prover(found.groundings, found.stated, sides, found.rules, depth or found.options.depth)


def _item(atom: rows.AtomRow, stated: set[Triple], prover: Prover) -> ConclusionOut:
    return ConclusionOut(
        subject=atom.subject,
        relation=atom.relation,
        object=atom.object,
        stated=triple_of(atom) in stated,
        round=atom.round,
        leaves=atom.leaves,
        strength_pre=atom.strength_pre,
        strength_post=atom.strength_post,
        proof=prover.best(triple_of(atom)),
    )


def _contradictions(db: Database, found: Closure, prover: Prover) -> list[ContradictionOut]:
    out = []
    relations = sorted({stored.rule.conclusion.relation for stored in found.rules})
    about = {"graph": found.graph, "relations": relations}
    for row in db.read(rows.ContradictionRow, "closure/contradictions", **about)[
        :MOST_CONTRADICTIONS
    ]:
        mine = prover.best((row.subject, row.relation, row.object))
        other = (row.subject, row.relation, row.other)
        against = prover.best(other) if row.implied else prover.leaf(other)
        if mine and against:
            out.append(
                ContradictionOut(
                    subject=row.subject,
                    relation=row.relation,
                    conclusion=mine,
                    against=against,
                )
            )
    return out
