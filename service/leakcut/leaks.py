"""The paths of a rewrite as a cut takes them: of a scored edit, or of the unedited graph.

An edit's paths have their retention R'/R; those of an unedited graph count as kept whole, so that
the cut is that of the graph. Facts have their id within the data set.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ..base.errors import UsageError
from ..graphs.datasets import case, require_graph, to_fact
from ..models.edit import Measure, Score
from ..rules.closure import HEIGHT_OF_PROOF, entity_kinds, relations_of, triple_of
from ..rules.engine import ground, near
from ..rules.schemas import ClosureOptions, factors
from .hitting_set import Chain, Inference, ProofProblem

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...loaders.records import Fact, RewriteRequest
    from ..rules.store import StoredRule


MOST = 1_000_000
"""Paths that are read at most."""


@dataclass(frozen=True)
class Leaks:
    """The leaking paths, and the facts that may be edited against them.

    Attributes:
        dataset: id of the data set's graph.
        rewrite: id of the rewrite.
        ends: s0 and o0.
        relation: the edited one.
        paths: all of them, the edited fact itself included where it counts as a chain.
        facts: of the paths, by id.
        score: of the edit; None for an unedited graph.
        measure: of the probabilities; None for an unedited graph.
    """

    dataset: str
    rewrite: str
    ends: tuple[str, str]
    relation: str
    target_new: str
    paths: tuple[rows.LeakPathRow, ...]
    facts: Mapping[str, rows.FactRow]
    score: Score | None = None
    measure: Measure | None = None

    @property
    def graph(self) -> str:
        """Id of the edit's graph; of an unedited graph that of the data set."""
        return self.score.edit if self.score else self.dataset

    def pre(self, fact: str) -> float | None:
        """Probability of a fact before the edit; None on an unedited graph."""
        return None if self.measure is None else getattr(self.facts[fact], f"{self.measure}_pre")

    def post(self, fact: str) -> float | None:
        """The same after the edit."""
        return None if self.measure is None else getattr(self.facts[fact], f"{self.measure}_post")

    def about(self, subject: str) -> frozenset[str]:
        """The facts about a subject."""
        return frozenset(id for id, fact in self.facts.items() if fact.subject == subject)

    @cached_property
    def records(self) -> tuple[Fact, ...]:
        """The facts as records, whose ids are those within the data set."""
        return tuple(to_fact(row) for row in self.facts.values())

    @cached_property
    def edited(self) -> frozenset[str]:
        """The facts that lead from s0 to o0 directly: the edited one, and it in other words.

        They are meant to change, as in subject retention. Of KnowGIC's 26 rewrites 15 state the
        edited fact in other words than the graph does.
        """
        return frozenset(path.facts[0] for path in self.paths if len(path.facts) == 1)

    @cached_property
    def further(self) -> tuple[rows.LeakPathRow, ...]:
        """The paths of two facts or more; the edited fact is edited anyway."""
        return tuple(path for path in self.paths if len(path.facts) > 1)

    def knows(self, path: rows.LeakPathRow) -> bool:
        """Return True if the model knew a path before the edit; all count in an unedited graph."""
        if self.score is None or path.r_pre is None:
            return True
        known_chain = self.score.options.counted["known_chain"]
        return bool(path.facts_known) and path.r_pre >= known_chain

    @cached_property
    def known(self) -> tuple[rows.LeakPathRow, ...]:
        """The paths of two facts or more that the model knew before the edit."""
        return tuple(path for path in self.further if self.knows(path))

    def leaking(self, leak: float) -> tuple[Chain, ...]:
        """The known paths whose retention is above `leak`; of an unedited graph all."""
        chains = (_chain(path) for path in self.known)
        return tuple(chain for chain in chains if chain.retention > leak)

    @cached_property
    def counted(self) -> tuple[Chain, ...]:
        """The chains that IFR is taken over: the known ones, the edited fact's own included."""
        return tuple(
            _chain(path)
            for path in self.paths
            if path.counted and path.r_pre != 0 and self.knows(path)
        )


def with_facts(db: Database, leaks: Leaks, ids: Collection[str]) -> Leaks:
    """The same with further facts of the graph, by their ids, which may be edited too."""
    missing = set(ids) - leaks.facts.keys()
    if not missing:
        return leaks
    further = {
        row.fact: rows.FactRow(**asdict(row))
        for row in db.read(rows.FactRow, "graph/facts", graph=leaks.graph)
        if row.fact in missing
    }
    return replace(leaks, facts={**leaks.facts, **further})


def _chain(path: rows.LeakPathRow) -> Chain:
    if path.r_pre is None or path.r_post is None:
        kept = 1.0
    else:
        kept = path.r_post / path.r_pre if path.r_pre else 0.0
    weight = 1 / math.sqrt(len(path.facts))
    return Chain(frozenset(path.facts), weight, kept, " → ".join(path.entities))


def of_edit(db: Database, score: Score, measure: Measure, max_steps: int = 5) -> Leaks:
    """The paths of a scored edit.

    Raises:
        UsageError: an append, which has no old fact, or a measure that was not taken.
    """
    if score.append is not None:
        raise UsageError(
            f"{score.edit} appends an answer: no old fact can leak, so there is nothing to cut.",
            remedy="Name an edit that replaces an object; `thinkeval results edits` lists them.",
        )
    if measure not in score.measures:
        raise UsageError(
            f"Edit {score.edit!r} was not measured by {measure!r}.",
            remedy=f"Use --measure {' or '.join(score.measures)}, or score it with --samples.",
        )
    where: dict[str, Any] = {
        "graph": score.edit, "subject": score.subject, "object": score.target_true,
        "rewrite": None,
    }  # fmt: skip
    steps = min(max_steps, score.options.max_steps)
    paths, facts = _read(
        db, where, score.relation, steps, score.options.bare,
        {
            "pre": f"{measure}_pre", "post": f"{measure}_post",
            "known": score.options.counted["known"],
        },
    )  # fmt: skip
    ends = (score.subject, score.target_true)
    return Leaks(
        score.dataset, score.rewrite, ends, score.relation, score.target_new, paths, facts, score,
        measure,
    )  # fmt: skip


def of_rewrite(db: Database, graph: str, rewrite: RewriteRequest, max_steps: int = 5) -> Leaks:
    """The paths of a rewrite in its data set's graph, before any edit.

    Raises:
        UsageError: a request to append.
    """
    if rewrite.kind == "append":
        raise UsageError(
            f"{rewrite.id} appends an answer: no old fact can leak, so there is nothing to cut.",
            remedy=f"`thinkeval graph rewrites {graph}` lists the rewrites.",
        )
    about = case(graph, rewrite)
    where = {name: about[name] for name in ("graph", "subject", "object", "rewrite")}
    # No fact has a probability: a path is the likeliest of parallel ones by its id alone.
    paths, facts = _read(db, where, rewrite.relation, max_steps, "listed", {})
    ends = (rewrite.subject, rewrite.target_true)
    return Leaks(
        graph, rewrite.id, ends, rewrite.relation, rewrite.target_new,
        tuple(_unweighted(path) for path in paths), facts,
    )  # fmt: skip


def _unweighted(path: rows.LeakPathRow) -> rows.LeakPathRow:
    """A path of a data set: probabilities that it may state are no model's."""
    return rows.LeakPathRow(path.entities, path.facts, None, None, None, path.counted)


def _read(
    db: Database,
    where: Mapping[str, Any],
    relation: str,
    max_steps: int,
    bare: str,
    sides: Mapping[str, Any],
) -> tuple[tuple[rows.LeakPathRow, ...], dict[str, rows.FactRow]]:
    found = db.read(
        rows.LeakPathRow, "leakcut/paths",
        **where, relation=relation, max_steps=max_steps, bare=bare, limit=MOST, **sides,
    )  # fmt: skip
    used = {fact for path in found for fact in path.facts}
    scope: Sequence[rows.FactRow] = []
    if used:
        scope = db.read(rows.FactRow, "probes/facts_in_scope", **where, max_steps=max_steps)
    return tuple(found), {row.fact: row for row in scope if row.fact in used}


ROLES = ("fact", "target_true")
"""Roles of facts that a proof of the old fact may use, as its chains do."""


def proofs(
    db: Database, leaks: Leaks, rules: Sequence[StoredRule], *, depth: int = HEIGHT_OF_PROOF
) -> ProofProblem:
    """Return the groundings by which rules prove the edited fact, or a fact of its chains.

    Args:
        depth: of the groundings: premises above each other. They are all used, also in taller
            proofs.

    Raises:
        UsageError: too many groundings.
    """
    header = require_graph(db, leaks.graph, kind=None)
    target = (leaks.ends[0], leaks.relation, leaks.ends[1])
    own = {
        id: (row.subject, row.relation, row.object)
        for id, row in leaks.facts.items()
        if id not in leaks.edited
    }
    about = {"pre": "likelihood_pre", "post": "likelihood_post", "relations": relations_of(rules)}
    atoms = db.read(rows.AtomRow, "closure/atoms", graph=leaks.graph, **about)
    stated = {
        atom.id.removeprefix(f"{leaks.graph}|"): triple_of(atom)
        for atom in atoms
        if atom.role in ROLES
    }
    factor = factors(rules, ClosureOptions())
    used = [stored for stored in rules if stored.id in factor]
    fitting = near(stated.values(), [target, *own.values()], used, depth)
    facts = own | {id: triple for id, triple in stated.items() if triple in fitting}
    kinds = entity_kinds(db, leaks.graph, header.dataset)
    found = ground(facts.values(), used, kinds, factor, depth=depth)
    texts = {stored.id: stored.rule.text() for stored in used}
    groundings = (Inference(g.premises, g.conclusion, g.factor, texts[g.rule]) for g in found)
    return ProofProblem(target, facts, tuple(groundings))
