"""Conversion of a knowledge set to a record of DepEdit's JSON, and back.

The published record has one part per phase, `init` (establish) and `0`, `1`, `2` (updated copies):

    {"facts": [{"q", "a", "trips": [s, r, o], "is_update"}],       edited facts
     "rule": {"pre1", "pre2", "imp"},                              templates
     "queries": {"original":       {"facts": [...], "inference": [...]},
                 "semantic-equiv": {"facts": [...]}}}              questions

The implications of a copy are in the order of those of `init`; `q` is null for an implication that
no longer follows, and new implications come last. Unrelated facts are in `init.queries.irre`, if
they were sampled in advance.

ThinkEval's records have additional keys, which other readers may ignore: `prompt` (the cloze of a
question), `premises` of an implication, and `thinkeval` with id, data set, setting, seed and the
rule's relations. With them a set is read back exactly as written. Records without them are read by
`loaders/depedit_published.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .knowledge_sets import QA, Copy, Implication, KnowledgeSet
from .rule_records import Atom, Rule

OWN = "thinkeval"
"""The key of ThinkEval's additions to a record."""


def to_json(knowledge: KnowledgeSet) -> dict[str, Any]:
    """Convert a set to one record."""
    record: dict[str, Any] = {"init": _phase(knowledge, None)}
    record["init"]["queries"]["irre"] = [_item(qa, qa.asked) for qa in knowledge.unrelated]
    for i, copy in enumerate(knowledge.copies):
        record[str(i)] = _phase(knowledge, copy)
    record[OWN] = {
        "id": knowledge.id,
        "dataset": knowledge.dataset,
        "setting": knowledge.setting,
        "seed": knowledge.seed,
        "init": knowledge.init,
        "rule": rule_to_json(knowledge.rule),
    }
    return record


def _phase(knowledge: KnowledgeSet, copy: Copy | None) -> dict[str, Any]:
    facts = knowledge.specific if copy is None else knowledge.after(copy)
    changed = set() if copy is None else {qa.key for qa in copy.updates}
    # `init` flags every fact as an update, as the published files do.
    flags = [copy is None or qa.key in changed for qa in facts]
    edited = [_item(qa, qa.prompt, flag) for qa, flag in zip(facts, flags, strict=True)]
    asked = [_item(qa, qa.asked, flag) for qa, flag in zip(facts, flags, strict=True)]
    consistent = knowledge.setting != "ICQ_DT"
    inference = _inference(knowledge, copy)
    rule = knowledge.rule
    return {
        "facts": edited,
        "rule": dict(
            zip(
                ("pre1", "pre2", "imp"),
                (_sentence(rule, atom) for atom in (*rule.pair, rule.conclusion)),
                strict=True,
            )
        ),
        "queries": {
            "original": {"facts": asked if consistent else edited, "inference": inference},
            "semantic-equiv": {"facts": asked, "inference": inference},
        },
    }


def _inference(knowledge: KnowledgeSet, copy: Copy | None) -> list[dict[str, Any]]:
    if copy is None:
        return [_implied(implication, True) for implication in knowledge.implications]
    now = {implication.qa.key: implication for implication in copy.updated}
    lost = set(copy.lost)
    items = []
    for implication in knowledge.implications:
        key = implication.qa.key
        if key in now:
            items.append(_implied(now.pop(key), True))
        elif key in lost:
            trips = [*key, None]
            items.append({"q": None, "a": None, "trips": trips, "is_update": False})
        else:
            items.append(_implied(implication, False))
    return items + [_implied(implication, True) for implication in now.values()]


def _item(qa: QA, cloze: str, is_update: bool = False) -> dict[str, Any]:
    return {
        "q": cloze.replace("{}", qa.subject, 1),
        "a": qa.object,
        "trips": [qa.subject, qa.relation, qa.object],
        "is_update": is_update,
        "prompt": cloze,
    }


def _implied(implication: Implication, is_update: bool) -> dict[str, Any]:
    item = _item(implication.qa, implication.qa.asked, is_update)
    return item | {
        "edited": implication.qa.prompt,
        "premises": [list(key) for key in implication.premises],
    }


def _sentence(rule: Rule, atom: Atom) -> str:
    return atom.templates[0] if atom.templates else f"{rule.sentence(atom)}."


def rule_to_json(rule: Rule) -> dict[str, Any]:
    """Convert a rule to JSON, with its relations, templates and words."""

    def line(atom: Atom) -> dict[str, Any]:
        return {
            "subject": atom.subject,
            "relation": atom.relation,
            "object": atom.object,
            "templates": list(atom.templates),
        }

    return {
        "first": line(rule.first),
        "second": line(rule.pair[1]),
        "conclusion": line(rule.conclusion),
        "kinds": dict(rule.kinds),
        "words": dict(rule.words),
        "support": rule.support,
        "body": rule.body,
        "source": rule.source,
    }


def rule_from_json(item: Mapping[str, Any]) -> Rule:
    """Read a rule that `rule_to_json` wrote."""

    def atom(line: Mapping[str, Any]) -> Atom:
        return Atom(line["subject"], line["relation"], line["object"], tuple(line["templates"]))

    return Rule(
        atom(item["first"]),
        atom(item["second"]),
        atom(item["conclusion"]),
        kinds=tuple(sorted(item["kinds"].items())),
        words=tuple(sorted(item["words"].items())),
        support=item["support"],
        body=item["body"],
        source=item["source"],
    )


def from_json(record: Mapping[str, Any], id: str | None = None) -> KnowledgeSet:
    """Read a set that `to_json` wrote.

    Args:
        id: an id in place of the record's.

    Raises:
        KeyError, TypeError, ValueError: `to_json` did not write the record.
    """
    own = record[OWN]
    init = record["init"]
    specific = _facts(init, own["setting"])
    implications = tuple(map(_implication, init["queries"]["original"]["inference"]))
    copies = sorted((key for key in record if len(key) < 10 and key.isdecimal()), key=int)
    return KnowledgeSet(
        id=own["id"] if id is None else id,
        dataset=own["dataset"],
        setting=own["setting"],
        seed=own["seed"],
        rule=rule_from_json(own["rule"]),
        specific=specific,
        unrelated=tuple(_qa(item, item["prompt"]) for item in init["queries"]["irre"]),
        implications=implications,
        copies=tuple(_copy(record[key], own["setting"], implications) for key in copies),
        init=own.get("init", "stored"),
    )


def _facts(phase: Mapping[str, Any], setting: str) -> tuple[QA, ...]:
    name = "semantic-equiv" if setting == "ICQ_DT" else "original"
    asked = phase["queries"][name]["facts"]
    return tuple(
        _qa(item, item["prompt"], question["prompt"])
        for item, question in zip(phase["facts"], asked, strict=True)
    )


def _qa(item: Mapping[str, Any], prompt: str, asked: str | None = None) -> QA:
    subject, relation, object_ = item["trips"]
    return QA(subject, relation, object_, prompt, item["prompt"] if asked is None else asked)


def _implication(item: Mapping[str, Any]) -> Implication:
    first, second = (tuple(key) for key in item["premises"])
    return Implication(_qa(item, item["edited"]), (first, second))  # type: ignore[arg-type]


def _copy(phase: Mapping[str, Any], setting: str, before: Sequence[Implication]) -> Copy:
    flags = [item["is_update"] for item in phase["facts"]]
    facts = _facts(phase, setting)
    items = phase["queries"]["original"]["inference"]
    entailed = [item for item in items if item["q"] is not None]
    return Copy(
        updates=tuple(qa for qa, flag in zip(facts, flags, strict=True) if flag),
        updated=tuple(_implication(item) for item in entailed if item["is_update"]),
        kept=tuple(_key(item) for item in entailed if not item["is_update"]),
        lost=tuple(_key(item) for item in items[: len(before)] if item["q"] is None),
    )


def _key(item: Mapping[str, Any]) -> tuple[str, str]:
    subject, relation, _ = item["trips"]
    return (subject, relation)
