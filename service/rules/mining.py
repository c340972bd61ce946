"""Rules of a graph: mined from its triangles and pairs of facts, or written by hand and counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...loaders import depedit
from ...loaders import rules as shipped
from ...loaders.records import SUBJECT_SLOT
from ...loaders.rule_records import Atom, Rule, kind_words
from ...loaders.rules_yaml import load_rules
from ..base.database import Progress, silent
from ..base.errors import UsageError
from ..graphs.datasets import read_apart, require_graph
from .store import (
    RuleStatistics,
    StoredRule,
    check,
    columns,
    dataset_of,
    rules_of,
    save,
    vocabulary,
)

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..base.leases import Writer
    from .packed import Counts, Packed, Suggested


#     mined = mine(db, "knowgic")
#     mined.rules[0].rule.text(), .support, .body, .confidence
#
# The rules of an edit's or a model's graph are stored under its data set.

MIN_SUPPORT = 2
LIMIT = 1000


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
        statistics: of each rule in the mined graph, by its id; None if not counted.
    """

    graph: str
    dataset: str
    rules: tuple[Rule, ...]
    total: int
    created: int
    statistics: Mapping[str, RuleStatistics | None]


def mine(
    db: Database,
    graph: str,
    *,
    min_support: int = MIN_SUPPORT,
    min_confidence: float = 0.0,
    limit: int = LIMIT,
    typed: bool = True,
    store: bool = True,
    progress: Progress = silent,
    fence: Callable[[Writer], object] = lambda write: None,
) -> Mined:
    """Mine the rules of a graph, and store them as candidates.

    A stored rule gets the new counts; its status does not change.

    Args:
        min_support: minimum number of groundings whose conclusion is in the graph.
        min_confidence: minimum fraction of the premises' groundings with the conclusion.
        typed: restrict a variable to the kind of its supporting entities if they share one.
        store: False stores no rule.
        fence: called in the transaction that stores; raises to have it rolled back.

    Raises:
        NotFoundError: no such graph.
        UsageError: a bound is out of range, or the graph suggests too many different rules.
    """
    from .packed import read  # imports numpy

    if min_support < 1 or limit < 1 or not 0 <= min_confidence <= 1:
        raise UsageError(
            f"min_support {min_support}, limit {limit}, min_confidence {min_confidence}: the first"
            " two must be at least 1, the last from 0 to 1.",
            remedy=f"The defaults are {MIN_SUPPORT}, {LIMIT} and 0.",
        )
    dataset = require_graph(db, graph, kind=None).dataset
    facts = read(db, graph, progress=progress)
    suggested, total = facts.suggested(min_support, limit, progress)
    prompts = vocabulary(db, graph).prompts if suggested else {}
    candidates = [_rule(each, typed, prompts) for each in suggested]
    candidates = sorted(candidates, key=lambda r: -(r.support or 0))[:limit]
    counts = _counts(facts, candidates, progress)
    found = [
        (replace(rule, body=of.body), of.statistics)
        for rule, of in zip(candidates, counts, strict=True)
    ]
    enough = [each for each in found if (each[0].confidence or 0.0) >= min_confidence]
    enough.sort(key=lambda each: _by_support(each[0]))
    ordered = tuple(rule for rule, _ in enough)
    created = save(db, dataset, ordered, status="candidate", fence=fence).created if store else 0
    statistics = {rule.id: of for rule, of in enough}
    return Mined(graph, dataset, ordered, total, created, statistics)


def _by_support(rule: Rule) -> tuple[float, float, str]:
    return (-(rule.support or 0), -(rule.confidence or 0), rule.id)


def mined_rules(db: Database, mined: Mined) -> list[StoredRule]:
    """The mined rules as they are stored, or as candidates if they are not, with statistics."""
    stored = {rule.id: rule for rule in rules_of(db, mined.dataset, status=None)}
    found = [
        stored.get(rule.id) or StoredRule(rule.id, mined.dataset, rule, "candidate")
        for rule in mined.rules
    ]
    return [replace(each, statistics=mined.statistics[each.id]) for each in found]


def count(db: Database, graph: str, rules: Sequence[Rule]) -> list[Rule]:
    """The rules with their support and body in the graph, in the same order."""
    counts = _counted(db, graph, rules)
    return [
        replace(rule, support=of.support, body=of.body)
        for rule, of in zip(rules, counts, strict=True)
    ]


def counted(db: Database, graph: str, rules: Sequence[StoredRule]) -> list[StoredRule]:
    """The rules with their statistics in a graph, in the same order."""
    counts = _counted(db, graph, [stored.rule for stored in rules])
    return [
        replace(stored, statistics=of.statistics) for stored, of in zip(rules, counts, strict=True)
    ]


def _counted(db: Database, graph: str, rules: Sequence[Rule]) -> list[Counts]:
    from .packed import read  # imports numpy

    if not rules:
        return []
    relations = {name for rule in rules for name in rule.relations if name is not None}
    return _counts(read(db, graph, sorted(relations)), rules)


def _counts(facts: Packed, rules: Sequence[Rule], progress: Progress = silent) -> list[Counts]:
    out = []
    for number, rule in enumerate(rules):
        progress(number, len(rules), "counting rules")
        out.append(facts.counts(rule))
    return out


def rule_param(rule: Rule) -> dict[str, object]:
    """A rule as a parameter of the queries of rules/ that ground it."""
    return {"rule": rule.id, **columns(rule)}


def _rule(row: Suggested, typed: bool, prompts: Mapping[str, str]) -> Rule:
    kinds = {variable: kind for variable, kind in zip("xyz", row.kinds, strict=True) if kind}
    words = kind_words(kinds)

    def atom(subject: str, relation: str, object_: str) -> Atom:
        if relation not in prompts:
            return Atom(subject, relation, object_)
        start, end = (f"[{words.get(variable, variable)}]" for variable in (subject, object_))
        template = f"{prompts[relation].replace(SUBJECT_SLOT, start, 1)} {end}."
        return Atom(subject, relation, object_, (template,))

    near, second = "z", None
    if row.relation2 is not None:
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
