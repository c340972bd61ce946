"""Conversion of a record as DepEdit's authors publish it into a knowledge set.

The published record has questions as sentences and the rule as three templates. Questions become
clozes (the subject in the question is the slot). The rule's relations are the two of the facts from
which most implications follow. An item whose question is null is left out, and a flag `is_update`
that contradicts the answers is ignored. The notes report all of this.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from .groundings import Grounding, Triple, groundings
from .knowledge_sets import QA, Copy, Implication, KnowledgeSet
from .reading.sources import Place
from .rule_records import Atom, Rule
from .texts import quoted

MAX_FACTS = 1000
"""Maximum number of facts of a set (24 in the paper); finding the rule compares pairs of them."""

MAX_RELATIONS = 50
"""Maximum number of relations of a set's facts (2 in the paper); all pairs are tried."""

_WORD = re.compile(r"\[([^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class Item:
    """One question of a record; `trips` is None if the record has no triple."""

    q: str
    a: str
    trips: Triple | None
    is_update: bool


def published(
    place: Place, record: Mapping[str, Any], id: str, setting: str, seed: int
) -> tuple[KnowledgeSet, list[str]]:
    """Convert one record.

    Returns:
        The set, and notes on omissions and contradictions.

    Raises:
        SchemaError: a field is missing or wrong; names line and field.
    """
    notes: list[str] = []
    init = _phase(place, record, "init", setting)
    facts = [_triple(place, item) for item, _ in init.facts]
    names = {name for s, _, o in facts for name in (s, o)}
    stated = [(item, _asked_triple(place, item, init, names)) for item in init.inference]
    rule = _rule(place, init.templates, facts, [triple for _, triple in stated])
    implications = _implications(rule, facts, stated)
    if dropped := len(stated) - len(implications):
        notes.append(f"{dropped} implications follow from no two of its facts")
    copies = []
    for name in sorted((key for key in record if _is_copy(key)), key=int):
        phase = _phase(place, record, name, setting)
        copies.append(_copy(place.at(name), phase, rule, init, implications, names, notes))
    if not copies:
        raise place.error("there is no updated copy ('0', '1', ...)")
    irre = _items(place.at("init", "queries", "irre"), init.queries.get("irre", []))
    knowledge = KnowledgeSet(
        id=id,
        dataset="",
        setting=setting,
        seed=seed,
        rule=rule,
        specific=tuple(_qa(item, asked) for item, asked in init.facts),
        unrelated=tuple(_qa(item, item) for item in irre if item.trips is not None),
        implications=tuple(implications),
        copies=tuple(copies),
        init="file",
    )
    return knowledge, notes


def _require_few(place: Place, facts: Sequence[Item]) -> None:
    relations = {item.trips[1] for item in facts if item.trips is not None}
    if len(facts) > MAX_FACTS or len(relations) > MAX_RELATIONS:
        raise place.error(
            f"{len(facts):,} facts of {len(relations):,} relations; a set has at most"
            f" {MAX_FACTS:,} facts of {MAX_RELATIONS} relations"
        )


def _is_copy(key: str) -> bool:
    """Return True if the key of a record is the number of a copy."""
    return len(key) < 10 and key.isdecimal()


@dataclass(frozen=True, slots=True)
class _Phase:
    facts: list[tuple[Item, Item]]
    """Every edited fact with the question that probes it."""
    inference: list[Item]
    templates: tuple[str, str, str]
    """The rule's: first premise, second premise, conclusion."""
    queries: Mapping[str, Any]


def _phase(place: Place, record: Mapping[str, Any], name: str, setting: str) -> _Phase:
    here = place.at(name)
    phase = here.mapping(place.field(dict(record), name))
    queries = here.at("queries").mapping(here.field(phase, "queries"))
    original = here.at("queries", "original").mapping(here.at("queries").field(queries, "original"))
    edited = _items(here.at("facts"), here.field(phase, "facts"))
    _require_few(here.at("facts"), edited)
    if setting == "ICQ_DT":
        there = here.at("queries", "semantic-equiv")
        rephrased = there.mapping(here.at("queries").field(queries, "semantic-equiv"))
        facts = _paired(there, edited, _items(there, there.field(rephrased, "facts")))
    else:
        facts = [(item, item) for item in edited]
    rule = here.at("rule").mapping(here.field(phase, "rule"))
    templates = tuple(
        here.at("rule", key).text(here.at("rule").field(rule, key))
        for key in ("pre1", "pre2", "imp")
    )
    where = here.at("queries", "original", "inference")
    inference = _items(where, here.at("queries", "original").field(original, "inference"))
    return _Phase(facts, inference, templates, queries)  # type: ignore[arg-type]


def _items(place: Place, value: object) -> list[Item]:
    """The items whose question is not null."""
    found = []
    for i, entry in enumerate(place.sequence(value)):
        here = place.at(i)
        item = here.mapping(entry)
        if here.field(item, "q") is None:
            continue
        trips = None
        if item.get("trips") is not None:
            parts = here.at("trips").sequence(item["trips"])
            if len(parts) != 3:
                raise here.at("trips").error(f"has {len(parts)} parts, not three")
            trips = tuple(here.at("trips").name(part) for part in parts)
        found.append(
            Item(
                here.at("q").text(item["q"]),
                here.at("a").name(here.field(item, "a")),
                trips,  # type: ignore[arg-type]
                bool(item.get("is_update", False)),
            )
        )
    return found


def _paired(place: Place, edited: Sequence[Item], asked: Sequence[Item]) -> list[tuple[Item, Item]]:
    """Each fact with its rephrased question, matched by triple or else by position."""
    by_triple = {item.trips: item for item in asked}
    pairs = []
    for i, item in enumerate(edited):
        other = None if item.trips is None else by_triple.get(item.trips)
        if other is None and len(asked) == len(edited) and asked[i].a == item.a:
            other = asked[i]
        if other is None:
            raise place.error(f"no rephrased question for {quoted(item.q)}")
        pairs.append((item, other))
    return pairs


def _triple(place: Place, item: Item) -> Triple:
    if item.trips is None:
        raise place.error(f"the fact {quoted(item.q)} has no 'trips'")
    return item.trips


def _asked_triple(place: Place, item: Item, phase: _Phase, names: set[str]) -> Triple:
    """The triple of an implication; without `trips` the subject is the longest name in it."""
    if item.trips is not None:
        return item.trips
    named = sorted((n for n in names if n in item.q and n != item.a), key=len)
    if not named:
        raise place.error(f"the implication {quoted(item.q)} names none of the facts' entities")
    return (named[-1], phase.templates[2], item.a)


def _rule(
    place: Place,
    templates: tuple[str, str, str],
    facts: Sequence[Triple],
    follows: Sequence[Triple],
) -> Rule:
    """The rule over the facts' relations that entails most of the implications."""
    wanted = {(s, o) for s, _, o in follows}
    by_relation: dict[str, list[Triple]] = defaultdict(list)
    for fact in facts:
        by_relation[fact[1]].append(fact)
    relations = sorted(by_relation)
    conclusion = follows[0][1] if follows else templates[2]
    best: tuple[int, Rule | None] = (0, None)
    for first, second in product(relations, repeat=2):
        of_both = [fact for name in {first, second} for fact in by_relation[name]]
        for back1, back2 in product((False, True), repeat=2):
            rule = Rule(
                Atom("y", first, "x") if back1 else Atom("x", first, "y"),
                Atom("z", second, "y") if back2 else Atom("y", second, "z"),
                Atom("x", conclusion, "z"),
                source="depedit",
            )
            hits = {(g.conclusion[0], g.conclusion[2]) for g in groundings(rule, of_both)}
            if len(hits & wanted) > best[0]:
                best = (len(hits & wanted), rule)
    if best[1] is None:
        raise place.error("no rule over its facts' relations gives one of its implications")
    return _with_templates(best[1], templates)


def _with_templates(rule: Rule, templates: tuple[str, str, str]) -> Rule:
    """The rule with its templates, and the variables' words if the templates identify them."""
    words = [_WORD.findall(text) for text in templates]
    premises = [templates[0], templates[1]]
    named: tuple[tuple[str, str], ...] = ()
    shared = set(words[0]) & set(words[1])
    if len(shared) == 1 and all(len(w) == 2 for w in words):
        y = shared.pop()
        x, z = words[2]
        if x in words[1]:
            premises.reverse()
        if {x, z, y} == set(words[0]) | set(words[1]):
            named = (("x", x), ("y", y), ("z", z))

    def atom(line: Atom, text: str) -> Atom:
        return Atom(line.subject, line.relation, line.object, (text,))

    first, second = rule.pair
    return Rule(
        atom(first, premises[0]),
        atom(second, premises[1]),
        atom(rule.conclusion, templates[2]),
        words=named,
        source=rule.source,
    )


def _implications(
    rule: Rule, facts: Sequence[Triple], stated: Sequence[tuple[Item, Triple]]
) -> list[Implication]:
    by_ends: dict[tuple[str, str], Grounding] = {}
    for grounding in groundings(rule, facts):
        by_ends.setdefault((grounding.conclusion[0], grounding.conclusion[2]), grounding)
    found = []
    for item, (subject, relation, object_) in stated:
        if (grounding := by_ends.get((subject, object_))) is not None:
            cloze = _cloze(item.q, subject)
            qa = QA(subject, relation, item.a, cloze, cloze)
            first, second = grounding.pair
            found.append(Implication(qa, (first[:2], second[:2])))
    return found


def _copy(
    place: Place,
    phase: _Phase,
    rule: Rule,
    init: _Phase,
    before: Sequence[Implication],
    names: set[str],
    notes: list[str],
) -> Copy:
    was = {qa.key: qa for qa in (_qa(item, asked) for item, asked in init.facts)}
    now = [_qa(item, asked) for item, asked in phase.facts]
    for qa in now:
        if qa.key not in was:
            raise place.error(
                f"the fact {quoted(qa.subject)}, {quoted(qa.relation)} is not among those of init"
            )
    updates = tuple(qa for qa in now if qa.object != was[qa.key].object)
    flagged = {_triple(place, item)[:2] for item, _ in phase.facts if item.is_update}
    if flagged != {qa.key for qa in updates}:
        notes.append(f"copy {place.where.split(', ')[-1]}: is_update contradicts the answers")
    facts = [_triple(place, item) for item, _ in phase.facts]
    names = names | {name for s, _, o in facts for name in (s, o)}
    stated = [(item, _asked_triple(place, item, phase, names)) for item in phase.inference]
    after = {i.qa.key: i for i in _implications(rule, facts, stated)}
    entailed = {i.qa.key: i.qa.object for i in before}
    changed = [i for key, i in after.items() if key in entailed and i.qa.object != entailed[key]]
    position = {key: i for i, key in enumerate(entailed)}
    changed.sort(key=lambda i: position[i.qa.key])
    return Copy(
        updates=updates,
        updated=(*changed, *(i for key, i in after.items() if key not in entailed)),
        kept=tuple(
            key
            for key, answer in entailed.items()
            if key in after and after[key].qa.object == answer
        ),
        lost=tuple(key for key in entailed if key not in after),
    )


def _qa(item: Item, asked: Item) -> QA:
    assert item.trips is not None
    subject, relation, _ = item.trips
    return QA(subject, relation, item.a, _cloze(item.q, subject), _cloze(asked.q, subject))


def _cloze(question: str, subject: str) -> str:
    """The question with `{}` for the subject, if it names the subject."""
    return question.replace(subject, "{}", 1)
