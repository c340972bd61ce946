"""Rules of a graph: mined from its triangles and pairs of facts, or written by hand and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders import depedit
from ...loaders import rules as shipped
from ...loaders.records import SUBJECT_SLOT
from ...loaders.rule_records import Atom, Rule, kind_words
from ...loaders.rules_yaml import load_rules
from ..base.errors import UsageError
from ..graphs.datasets import read_apart, require_graph
from .store import StoredRule, check, columns, dataset_of, rules_of, save, vocabulary

if TYPE_CHECKING:
    from ...cypher.run import Database


#     mined = mine(db, "knowgic")
#     mined.rules[0].rule.text(), .support, .body, .confidence
#
# The rules of an edit's or a model's graph are stored under its data set.

MIN_SUPPORT = 2
LIMIT = 1000
COUNTED = 50
"""Number of rules whose premises one query counts; a few hundred would exceed its time limit."""


@dataclass(frozen=True, slots=True)
class Mined:
    """Mined rules.

    Attributes:
        graph: the mined graph.
        dataset: the data set the rules are stored under.
        rules: best supported first, then the most confident; with support, body and kinds.
        total: number of rules with the support; more than `rules` if the limit or
            `min_confidence` left some out.
        created: number of rules not stored before.
    """

    graph: str
    dataset: str
    rules: tuple[Rule, ...]
    total: int
    created: int


def mine(
    db: Database,
    graph: str,
    *,
    min_support: int = MIN_SUPPORT,
    min_confidence: float = 0.0,
    limit: int = LIMIT,
    typed: bool = True,
    store: bool = True,
) -> Mined:
    """Mine the rules of a graph, and store them as candidates.

    A stored rule gets the new counts; its status does not change.

    Args:
        min_support: minimum number of groundings whose conclusion is in the graph.
        min_confidence: minimum fraction of the premises' groundings with the conclusion.
        typed: restrict a variable to the kind of its supporting entities if they share one.
        store: False stores no rule.

    Raises:
        NotFoundError: no such graph.
        UsageError: a bound is out of range.
    """
    if min_support < 1 or limit < 1 or not 0 <= min_confidence <= 1:
        raise UsageError(
            f"min_support {min_support}, limit {limit}, min_confidence {min_confidence}: the first"
            " two must be at least 1, the last from 0 to 1.",
            remedy=f"The defaults are {MIN_SUPPORT}, {LIMIT} and 0.",
        )
    dataset = require_graph(db, graph, kind=None).dataset
    bounds = {"min_support": min_support, "limit": limit}
    two = db.read(rows.MineRow, "rules/mine", graph=graph, **bounds)
    one = db.read(rows.MinePairRow, "rules/mine_pairs", graph=graph, **bounds)
    prompts = vocabulary(db, graph).prompts if one or two else {}
    candidates = [_rule(row, typed, prompts) for row in (*two, *one)]
    candidates = sorted(candidates, key=lambda r: -(r.support or 0))[:limit]
    rules = count(db, graph, candidates, supported=True)
    enough = [rule for rule in rules if (rule.confidence or 0.0) >= min_confidence]
    ordered = sorted(enough, key=lambda r: (-(r.support or 0), -(r.confidence or 0), r.id))
    created = save(db, dataset, ordered, status="candidate").created if store else 0
    total = sum(found[0].total for found in (one, two) if found)
    return Mined(graph, dataset, tuple(ordered), total, created)


def count(
    db: Database, graph: str, rules: Sequence[Rule], *, supported: bool = False
) -> list[Rule]:
    """The rules with their support and body in the graph, in the same order.

    Args:
        supported: the rules have their support in this graph already; count only the bodies.
    """
    # Many rules share their premises, which are counted once.
    keys = [premises(rule) if supported else (rule.id,) for rule in rules]
    distinct = list(dict(zip(keys, rules, strict=True)).items())
    counted: dict[tuple[object, ...], rows.BodyCountRow] = {}
    for start in range(0, len(distinct), COUNTED):
        part = distinct[start : start + COUNTED]
        params = [
            rule_param(rule) | {"support": rule.support if supported else None} for _, rule in part
        ]
        found = {
            row.rule: row
            for row in db.read(rows.BodyCountRow, "rules/body_counts", graph=graph, rules=params)
        }
        counted |= {key: found[rule.id] for key, rule in part}
    return [
        replace(
            rule,
            support=rule.support if supported else counted[key].support,
            body=counted[key].body,
        )
        for key, rule in zip(keys, rules, strict=True)
    ]


def premises(rule: Rule) -> tuple[object, ...]:
    """Key of a rule's premises: equal for rules whose premises have the same groundings.

    x and z are interchangeable: the second premise, read from z, is then the first one.
    """
    first, second, _ = rule.relations
    if second is None:
        return (first, rule.inverse[0], rule.kind("x"), rule.kind("z"))
    inverse1, inverse2 = rule.inverse
    kind = rule.kind
    ways = (
        (first, inverse1, kind("x"), second, inverse2, kind("z"), kind("y")),
        (second, not inverse2, kind("z"), first, not inverse1, kind("x"), kind("y")),
    )
    return min(ways, key=repr)


def rule_param(rule: Rule) -> dict[str, object]:
    """A rule as a parameter of the queries of rules/ that ground it."""
    return {"rule": rule.id, **columns(rule)}


def _rule(row: rows.MinePairRow, typed: bool, prompts: Mapping[str, str]) -> Rule:
    between = row.kind_y if isinstance(row, rows.MineRow) else None
    bound = {"x": row.kind_x, "y": between, "z": row.kind_z}
    kinds = {variable: kind for variable, kind in bound.items() if kind}
    words = kind_words(kinds)

    def atom(subject: str, relation: str, object_: str) -> Atom:
        if relation not in prompts:
            return Atom(subject, relation, object_)
        start, end = (f"[{words.get(variable, variable)}]" for variable in (subject, object_))
        template = f"{prompts[relation].replace(SUBJECT_SLOT, start, 1)} {end}."
        return Atom(subject, relation, object_, (template,))

    near, second = "z", None
    if isinstance(row, rows.MineRow):
        near = "y"
        second = atom(*(("z", row.relation2, "y") if row.inverse2 else ("y", row.relation2, "z")))
    return Rule(
        atom(*((near, row.relation1, "x") if row.inverse1 else ("x", row.relation1, near))),
        second,
        atom("x", row.relation3, "z"),
        kinds=tuple(kinds.items()) if typed else (),
        words=tuple(words.items()),
        support=row.support,
        source="mined",
    )


# Add hand-written rules: checked and counted in the data set, with the status `kept`.


def add_file(
    db: Database, dataset: str, file: Path, *, new_relations: bool = False
) -> tuple[list[StoredRule], int]:
    """Add the rules of a YAML file, of DepEdit's JSONL, or of a bundled graph by its name.

    Raises:
        LoaderError: neither loaders/rules_yaml.py nor loaders/depedit.py can read the file.
        ServiceError: as `add`.
    """
    bundled = None if file.exists() else shipped.path(str(file))
    rules = load_rules(bundled) if bundled else _read(file)
    return add(db, dataset, rules, new_relations=new_relations)


def _read(file: Path) -> Sequence[Rule]:
    if file.suffix.lower() != ".jsonl":
        return read_apart(load_rules, file)
    found = (one.rule for one in read_apart(partial(depedit.read, strict=True), file).sets)
    return list({rule.id: rule for rule in found}.values())


def add(
    db: Database, dataset: str, rules: Sequence[Rule], *, new_relations: bool = False
) -> tuple[list[StoredRule], int]:
    """Add rules to the data set of a graph: the stored rules, and the number of new ones.

    Raises:
        NotFoundError: no such data set, or no fact has a relation (suggests similar ones).
        UsageError: no entity has a kind.
    """
    of = dataset_of(db, dataset)
    check(db, of, *rules, new_relations=new_relations)
    created = save(db, of, count(db, of, rules), status="kept").created
    return rules_of(db, of, ids=[rule.id for rule in rules]), created
