"""Find rules in a graph: triangles of facts, each with three candidate rules and their counts.

    mined = mine(db, "knowgic")
    mined.rules[0].rule.text(), .support, .body, .confidence

Mining an edit's or a model's graph finds the rules of the data set it was made from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.loaders.records import SUBJECT_SLOT
from thinkeval.loaders.rule_records import Atom, Rule, kind_words
from thinkeval.service.errors import UsageError
from thinkeval.service.graphs.datasets import require_graph
from thinkeval.service.rules.store import columns, save, vocabulary

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

MIN_SUPPORT = 2
LIMIT = 1000
COUNTED = 50
"""Rules whose premises are counted in one query; a few hundred would run into the time limit."""


@dataclass(frozen=True, slots=True)
class Mined:
    """What mining found.

    Attributes:
        graph: where it looked.
        dataset: the data set the rules are stored under.
        rules: best supported first, then the most confident; with support, body and kinds.
        total: how many had the support, before the limit; more than `rules` where it, or
            `min_confidence`, left some out.
        created: how many of them were not stored before.
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
    """Find a graph's rules, and store them as candidates.

    A rule that is stored already gets the new counts and keeps its status.

    Args:
        min_support: groundings at least whose conclusion the graph has.
        min_confidence: share at least of the groundings of the premises with the conclusion.
        typed: restrict variables to the kind that all supporting entities have, where they have
            one and the same.
        store: False only looks.

    Raises:
        NotFoundError: there is no such graph.
        UsageError: a bound is out of range.
    """
    if min_support < 1 or limit < 1 or not 0 <= min_confidence <= 1:
        raise UsageError(
            f"min_support {min_support}, limit {limit}, min_confidence {min_confidence}: the first"
            " two must be at least 1, the last from 0 to 1.",
            remedy=f"The defaults are {MIN_SUPPORT}, {LIMIT} and 0.",
        )
    dataset = require_graph(db, graph, kind=None).dataset
    found = db.read(rows.MineRow, graph=graph, min_support=min_support, limit=limit)
    prompts = vocabulary(db, graph).prompts if found else {}
    rules = count(db, graph, [_rule(row, typed, prompts) for row in found], supported=True)
    enough = [rule for rule in rules if (rule.confidence or 0.0) >= min_confidence]
    ordered = sorted(enough, key=lambda r: (-(r.support or 0), -(r.confidence or 0), r.id))
    created = save(db, dataset, ordered, status="candidate").created if store else 0
    return Mined(graph, dataset, tuple(ordered), found[0].total if found else 0, created)


def count(
    db: Database, graph: str, rules: Sequence[Rule], *, supported: bool = False
) -> list[Rule]:
    """The rules with support and body as the graph has them, in the same order.

    Args:
        supported: their support is what this graph gave already, and is not counted again.
    """
    # Premises suggest many rules, and are counted once for all of them.
    keys = [premises(rule) if supported else (rule.id,) for rule in rules]
    asked = list(dict(zip(keys, rules, strict=True)).items())
    counted: dict[tuple[object, ...], rows.BodyCountRow] = {}
    for start in range(0, len(asked), COUNTED):
        part = asked[start : start + COUNTED]
        given = [
            rule_param(rule) | {"support": rule.support if supported else None} for _, rule in part
        ]
        found = {row.rule: row for row in db.read(rows.BodyCountRow, graph=graph, rules=given)}
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
    """What decides a rule's body: equal for rules whose premises have the same groundings.

    x and z may change places: the second premise, read from z, is then the first one.
    """
    first, second, _ = rule.relations
    inverse1, inverse2 = rule.inverse
    kind = rule.kind
    ways = (
        (first, inverse1, kind("x"), second, inverse2, kind("z"), kind("y")),
        (second, not inverse2, kind("z"), first, not inverse1, kind("x"), kind("y")),
    )
    return min(ways, key=repr)


def rule_param(rule: Rule) -> dict[str, object]:
    """A rule as the queries of rules/ that ground it take it."""
    return {"rule": rule.id, **columns(rule)}


def _rule(row: rows.MineRow, typed: bool, prompts: Mapping[str, str]) -> Rule:
    kinds = {v: k for v, k in zip("xyz", (row.kind_x, row.kind_y, row.kind_z), strict=True) if k}
    words = kind_words(kinds)

    def atom(subject: str, relation: str, object_: str) -> Atom:
        if relation not in prompts:
            return Atom(subject, relation, object_)
        said, end = (f"[{words.get(variable, variable)}]" for variable in (subject, object_))
        template = f"{prompts[relation].replace(SUBJECT_SLOT, said, 1)} {end}."
        return Atom(subject, relation, object_, (template,))

    return Rule(
        atom(*(("y", row.relation1, "x") if row.inverse1 else ("x", row.relation1, "y"))),
        atom(*(("z", row.relation2, "y") if row.inverse2 else ("y", row.relation2, "z"))),
        atom("x", row.relation3, "z"),
        kinds=tuple(kinds.items()) if typed else (),
        words=tuple(words.items()),
        support=row.support,
        source="mined",
    )
