"""Rules of a data set in the database: save, read, check against the graph, count, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...cypher import rows
from ...loaders.rule_records import Atom, Rule
from ..base.errors import NotFoundError, UsageError
from ..base.statistics import wilson
from ..graphs.datasets import require_graph

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ..base.leases import Writer


Status = Literal["candidate", "kept", "rejected"]
STATUSES: tuple[Status, ...] = ("candidate", "kept", "rejected")
KEPT: tuple[Status, ...] = ("kept",)
"""Status of the rules that are used by default."""


@dataclass(frozen=True, slots=True)
class RuleStatistics:
    """Counts of distinct conclusions of a rule in a graph (service.rules.store).

    Attributes:
        conclusions: predicted by the rule's groundings.
        known: number of those that the graph has: support over conclusions.
        comparable: number of those whose subject has any fact of the conclusion's relation.
        heads: pairs of entities with the conclusion's relation.
    """

    conclusions: int
    known: int
    comparable: int
    heads: int

    @property
    def confidence(self) -> float | None:
        """Fraction known of the conclusions; None without a conclusion."""
        return self.known / self.conclusions if self.conclusions else None

    @property
    def pca_confidence(self) -> float | None:
        """Fraction known of the comparable ones; None without any."""
        return self.known / self.comparable if self.comparable else None

    @property
    def head_coverage(self) -> float | None:
        """Fraction of the relation's pairs that is known; None where no fact has the relation."""
        return self.known / self.heads if self.heads else None

    @property
    def lower(self) -> float | None:
        """Lower end of the 95 % Wilson interval of `confidence`: 84 of 90 is above 2 of 2."""
        share = self.confidence
        return None if share is None else wilson(share, self.conclusions)[0]


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A stored rule.

    Attributes:
        id: unique within its data set; `rule.id`.
        dataset: the data set of the rule.
        status: candidate (not reviewed), kept or rejected.
        labels: (annotator, label a to e), by annotator.
        statistics: counts of distinct conclusions in a graph; None if not counted.
    """

    id: str
    dataset: str
    rule: Rule
    status: str
    labels: tuple[tuple[str, str], ...] = ()
    statistics: RuleStatistics | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """Number of rules sent, and of new ones among them."""

    asked: int
    created: int


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Relations and kinds of a graph.

    Attributes:
        relations: {relation: number of facts}.
        kinds: {kind: number of entities}.
        untyped: number of entities without a kind.
        prompts: {relation: most frequent cloze of its facts}.
    """

    relations: dict[str, int]
    kinds: dict[str, int]
    untyped: int
    prompts: dict[str, str]


def columns(rule: Rule) -> dict[str, object]:
    """Relations, directions and kinds of a rule: parameters of the queries that ground it."""
    first, second, conclusion = rule.relations
    inverse1, inverse2 = rule.inverse
    return {
        "relation1": first, "inverse1": inverse1,
        "relation2": second, "inverse2": inverse2,
        "relation3": conclusion,
        **{f"kind_{v}": rule.kind(v) for v in "xyz"},
    }  # fmt: skip


def rule_row(rule: Rule) -> dict[str, object]:
    """A rule as a row of rules/merge_rules."""
    words = dict(rule.words)
    return {
        "rule": rule.id,
        **columns(rule),
        **{f"word_{v}": words.get(v) for v in "xyz"},
        "templates1": list(rule.first.templates),
        "templates2": list(rule.second.templates) if rule.second else [],
        "templates3": list(rule.conclusion.templates),
        "text": rule.text(),
        "shape": rule.shape,
        "support": rule.support,
        "body_count": rule.body,
        "confidence": rule.confidence,
        "source": rule.source,
    }  # fmt: skip


def save(
    db: Database,
    dataset: str,
    rules: Sequence[Rule],
    *,
    status: Status,
    fence: Callable[[Writer], object] = lambda write: None,
) -> Saved:
    """Store rules under a data set; stored ones with the same id get the new counts and words.

    Args:
        fence: called in the transaction; raises to have it rolled back.
        status: status of new rules. `candidate` leaves status and source of stored rules unchanged.

    Raises:
        NotFoundError: no such data set.
    """
    require_graph(db, dataset)
    once = list({rule.id: rule for rule in rules}.values())
    if not once:
        return Saved(0, 0)

    def write(tx: Tx) -> rows.MergeRulesRow:
        (merged,) = tx.run(
            rows.MergeRulesRow,
            "rules/merge_rules",
            dataset=dataset,
            status=status,
            rows=[rule_row(r) for r in once],
        )
        fence(tx.run)
        return merged

    written = db.atomically(write)
    return Saved(written.asked, written.created)


def dataset_of(db: Database, graph: str) -> str:
    """The data set whose rules a graph of any kind uses.

    Raises:
        NotFoundError: no such graph.
    """
    return require_graph(db, graph, kind=None).dataset


def rules_of(
    db: Database,
    dataset: str,
    *,
    status: Sequence[str] | None = KEPT,
    ids: Sequence[str] | None = None,
) -> list[StoredRule]:
    """The rules of a data set, best supported first.

    Args:
        status: only rules with one of these; None for any.
        ids: only these, of any status; unique prefixes of ids are accepted.

    Raises:
        NotFoundError: no such data set, or no rule with one of the ids.
        UsageError: a prefix matches several rules.
    """
    require_graph(db, dataset)
    if ids is not None:
        stored = _listed(db, dataset, None)
        return list(
            {found.id: found for found in (_named(stored, dataset, i) for i in ids)}.values()
        )
    return _listed(db, dataset, status)


def kept_rules(db: Database, dataset: str) -> list[StoredRule]:
    """The kept rules of a data set; none if the data set itself was removed."""
    return _listed(db, dataset, KEPT)


def _listed(db: Database, dataset: str, status: Sequence[str] | None) -> list[StoredRule]:
    statuses = None if status is None else list(status)
    found = db.read(rows.RuleRow, "rules/list_rules", dataset=dataset, statuses=statuses)
    return [_stored(row) for row in found]


def rule_of(db: Database, dataset: str, rule: str) -> StoredRule:
    """One rule by its id or a prefix of it; raises as `rules_of`."""
    return rules_of(db, dataset, ids=[rule])[0]


def delete(db: Database, dataset: str, ids: Sequence[str] | None = None) -> int:
    """Delete rules by id, or all of a data set; their number. Raises as `rules_of`."""
    if ids is None:
        require_graph(db, dataset)
        return db.write(int, "rules/delete_rules", dataset=dataset)[0]
    found = [stored.id for stored in rules_of(db, dataset, ids=ids)]
    return db.write(int, "rules/delete_rules", dataset=dataset, ids=found)[0]


def vocabulary(db: Database, graph: str) -> Vocabulary:
    """The relations and kinds of a graph."""
    found = db.read(rows.VocabularyRow, "rules/vocabulary", graph=graph)
    kinds = {row.name: row.n for row in found if row.sort == "kind"}
    untyped = kinds.pop(None, 0)
    relations = {row.name: row.n for row in found if row.sort == "relation" and row.name}
    prompts = {row.name: row.prompt for row in found if row.name and row.prompt}
    return Vocabulary(relations, {name: n for name, n in kinds.items() if name}, untyped, prompts)


def check(db: Database, dataset: str, *rules: Rule, new_relations: bool = False) -> None:
    """Check that rules use only relations and kinds of the data set.

    Args:
        new_relations: accept relations without facts in conclusions, and then in premises of the
            other rules.

    Raises:
        NotFoundError: no fact has a relation; suggests similar ones.
        UsageError: no entity has a kind; lists the kinds of the data set.
    """
    require_graph(db, dataset)
    known = vocabulary(db, dataset)
    relations = set(known.relations)
    if new_relations:
        relations |= {rule.conclusion.relation for rule in rules}
    for rule in rules:
        for name in rule.relations:
            if name is not None and name not in relations:
                listing = f"thinkeval graph rules relations {dataset}"
                raise NotFoundError(f"relation in {dataset!r}", name, relations, listing=listing)
        for variable, kind in rule.kinds:
            if kind not in known.kinds:
                raise UsageError(
                    f"No entity of {dataset!r} has the kind {kind!r}, which the rule requires of"
                    f" {variable} ({rule.text()})",
                    remedy=_kinds_text(known),
                )


def _kinds_text(known: Vocabulary) -> str:
    if not known.kinds:
        return "Its entities have no kinds: omit `kinds`, then a variable matches any entity."
    listed = ", ".join(f"{kind} ({n})" for kind, n in sorted(known.kinds.items()))
    return f"Kinds of the data set: {listed}. Without a kind the variable matches any entity."


def _named(stored: Sequence[StoredRule], dataset: str, name: str) -> StoredRule:
    found = [each for each in stored if each.id == name] or [
        each for each in stored if name and each.id.startswith(name)
    ]
    if len(found) > 1:
        raise UsageError(
            f"{name!r} is a prefix of {len(found)} rules: {', '.join(r.id for r in found[:3])} …",
            remedy="Give more of the id.",
            status=409,
        )
    if not found:
        known = [each.id for each in stored]
        raise NotFoundError(
            f"rule of {dataset!r}", name, known, listing=f"thinkeval graph rules list {dataset}"
        )
    return found[0]


def _stored(row: rows.RuleRow) -> StoredRule:
    near = "z" if row.relation2 is None else "y"
    first = (near, "x") if row.inverse1 else ("x", near)
    second = None
    if row.relation2 is not None:
        ends = ("z", "y") if row.inverse2 else ("y", "z")
        second = Atom(ends[0], row.relation2, ends[1], row.templates2)
    kinds = (("x", row.kind_x), ("y", row.kind_y), ("z", row.kind_z))
    words = (("x", row.word_x), ("y", row.word_y), ("z", row.word_z))
    rule = Rule(
        Atom(first[0], row.relation1, first[1], row.templates1),
        second,
        Atom("x", row.relation3, "z", row.templates3),
        kinds=tuple((v, kind) for v, kind in kinds if kind),
        words=tuple((v, word) for v, word in words if word),
        support=row.support,
        body=row.body_count,
        source=row.source,
    )
    labels = tuple(zip(row.annotators, row.labels, strict=True))
    return StoredRule(row.rule, row.dataset, rule, row.status, labels)


# Statistics of rules over distinct conclusions: confidences, coverage, and a bound to rank by.
#
# Several groundings may have one conclusion, so a rule of support 14 may state 3 facts. Here each
# conclusion counts once, as in AMIE (Galárraga et al., "AMIE: association rule mining under
# incomplete evidence", WWW 2013): support, standard confidence, PCA confidence (section 3), and
# head coverage. A graph lacks facts; PCA counts a conclusion as wrong only where the graph has
# another fact of the subject and relation. It flatters functional relations, so both are given.

Rank = Literal["lower", "support"]
"""Order of rules: the greatest lower bound of the confidence first, or the most groundings."""
RANK: Rank = "lower"


def ranked(rules: Sequence[StoredRule], rank: Rank = RANK) -> list[StoredRule]:
    """Rules in order; of those with equal lower bounds the one with most known conclusions first.

    Args:
        rules: with statistics; without them they are last by `lower`.
        rank: `support` counts groundings, and leaves equal ones to their confidence.
    """

    def by_lower(stored: StoredRule) -> tuple[float, int, str]:
        of = stored.statistics
        lower = of.lower if of is not None else None
        return (1.0 if lower is None else -lower, -(of.known if of else 0), stored.id)

    def by_support(stored: StoredRule) -> tuple[float, float, str]:
        rule = stored.rule
        support, confidence = (-1 if n is None else n for n in (rule.support, rule.confidence))
        return (-support, -confidence, stored.id)

    return sorted(rules, key=by_lower if rank == "lower" else by_support)
