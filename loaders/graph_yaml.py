"""ThinkEval's format for a graph: YAML with prompts and questions for every relation.

    name: hogwarts                          # optional; else the file's name
    relations:                              # {} is the subject; the object follows a prompt
      studied at:
        prompt: "{} studied at"
        question: "Which school did {} attend?"          # optional
        paraphrases: ["{} went to school at"]            # optional
    entities:                               # optional, as are all its fields
      Harry Potter: {kind: person, aliases: [The Boy Who Lived]}
    facts:                                  # subject -> relation -> object or list of objects
      Harry Potter:
        studied at: [Hogwarts]
    rewrites:                               # optional
      - subject: Harry Potter
        relation: studied at
        target_new: Ilvermorny              # or `forget: true`
        target_true: Hogwarts               # optional if the facts have exactly one object
        # prompt, question, paraphrases: override the relation's
        # id: by default `SUBJECT--RELATION--TARGET_NEW` in lower case
        checks:                             # optional: questions to ask after the edit
          - criterion: multi_hop
            prompt: In which country is Harry Potter's school?
            answers: [United States, USA]   # the first, then its aliases
            # optional: old_answers, wrong, further, group, every, conditions, pre, post

Every scalar is read as text, including numbers and dates, and a repeated key is an error.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .assembly import GraphAssembly
from .errors import SchemaError
from .reading.sources import Place, default_name, read_yaml
from .records import Check, Fact, LoadedGraph, RewriteRequest, fill, unique
from .texts import MAX_QUOTE, enumeration, examples, folded, quoted

SUMMARY = "ThinkEval's YAML: facts with prompts, questions, paraphrases, aliases and rewrites"
TOP_KEYS = ("name", "relations", "entities", "facts", "rewrites")
RELATION_KEYS = ("prompt", "question", "paraphrases")
ENTITY_KEYS = ("kind", "aliases")
REWRITE_KEYS = (
    "subject", "relation", "target_true", "target_new", *RELATION_KEYS, "forget", "id", "checks",
)  # fmt: skip
CHECK_KEYS = tuple(each.name for each in fields(Check))


_BY_SUBJECT = re.compile(
    r"^facts\s*:\s*\n(?:\s*#.*\n|\s*\n)*([ ]+)[^\s#-].*:\s*\n\1[ ]+[^\s#-].*:", re.M
)
"""`facts:`, a subject below it, a relation below that."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Prompt, question and paraphrases of a relation, each with one `{}` for the subject."""

    prompt: str
    question: str | None = None
    paraphrases: tuple[str, ...] = ()

    def fact(self, subject: str, relation: str, object_: str) -> Fact:
        """A fact with these prompts and questions."""
        asked = () if self.question is None else (fill(self.question, subject),)
        return Fact(subject, relation, object_, self.prompt, asked, self.paraphrases)


def recognises(path: Path) -> bool:
    """Return True if a YAML file has `facts:` by subject, or `relations:` beside them.

    Without `relations:` the file is still one of these, so that the error names the missing key.
    """
    if path.suffix.lower() not in {".yaml", ".yml"}:
        return False
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    keys = (rf"^['\"]?{key}['\"]?\s*:" for key in ("relations", "facts"))
    return all(re.search(key, text, re.M) for key in keys) or bool(_BY_SUBJECT.search(text))


def load(path: Path | str, *, name: str | None = None) -> LoadedGraph:
    """Read a graph in this format.

    Raises:
        UnreadableFileError: the file is missing or not YAML.
        SchemaError: a field is missing, unknown or wrong; names file, place and problem.
    """
    path = Path(path)
    top = Place(path, "")
    content = known(top, read_yaml(path), TOP_KEYS)
    name = name or top.at("name").name(content.get("name", default_name(path)))
    assembly = GraphAssembly(name)
    relations = top.at("relations").mapping(top.field(content, "relations"))
    wordings: dict[str, Wording] = {}
    for relation, item in relations.items():
        place = top.at(f"relation {quoted(relation)}")
        place.name(relation)
        wordings[relation] = _wording(place, item)
    entities = top.at("entities").mapping(content.get("entities", {}))
    assembly.declared = frozenset(entities)
    _add_facts(top.at("facts"), top.field(content, "facts"), wordings, assembly)
    rewrites = top.at("rewrites").sequence(content.get("rewrites", []))
    for i, item in enumerate(rewrites):
        add_rewrite(Place(path, f"rewrites[{i}]"), item, wordings, assembly)
    _add_entities(top.at("entities"), entities, assembly)
    _report_unused(wordings, assembly)
    return assembly.finish(str(path), "graph_yaml")


def known(place: Place, item: object, keys: Iterable[str]) -> dict[str, Any]:
    """The fields of an object, all of whose keys must be among the allowed ones."""
    fields = place.mapping(item)
    allowed = list(keys)
    for key in fields:
        if key not in allowed:
            problem = (
                f"unknown key {quoted(key)}{meant(key, allowed)} (known: {', '.join(allowed)})"
            )
            raise place.error(problem)
    return fields


def meant(word: str, words: Iterable[str]) -> str:
    """`, did you mean ...?` with the closest word; empty if none is close."""
    if len(word) > MAX_QUOTE:
        return ""
    near = difflib.get_close_matches(word, [w for w in words if len(w) <= MAX_QUOTE], n=1)
    return f", did you mean {quoted(near[0])}?" if near else ""


def _wording(place: Place, item: object) -> Wording:
    fields = known(place, item, RELATION_KEYS)
    listed = place.at("paraphrases").sequence(fields.get("paraphrases", []))
    paraphrases = [place.at(f"paraphrases[{i}]").prompt(text) for i, text in enumerate(listed)]
    question = fields.get("question")
    return Wording(
        place.at("prompt").prompt(place.field(fields, "prompt")),
        None if question is None else place.at("question").prompt(question),
        unique(paraphrases),
    )


def objects_of(place: Place, item: object) -> list[str]:
    """One object, or a list of them."""
    if isinstance(item, str):
        return [place.name(item)]
    objects = [place.at(f"object {i}").name(value) for i, value in enumerate(place.sequence(item))]
    if not objects:
        raise place.error("has no object")
    return objects


def _add_facts(
    place: Place, item: object, wordings: dict[str, Wording], assembly: GraphAssembly
) -> None:
    listed = 0
    for subject, relations in place.mapping(item).items():
        there = place.at(quoted(subject))
        name = there.name(subject)
        for relation, objects in there.mapping(relations).items():
            here = there.at(quoted(relation))
            if relation not in wordings:
                hint = meant(relation, wordings)
                raise here.error(f"this relation is not under `relations`{hint}")
            for object_ in objects_of(here, objects):
                listed += 1
                if not assembly.leaves_out(here, name, object_):
                    assembly.facts.append(wordings[relation].fact(name, relation, object_))
    if not listed:
        raise place.error("there are no facts")
    assembly.read["facts"] = listed


def add_rewrite(
    place: Place, item: object, wordings: Mapping[str, Wording], assembly: GraphAssembly
) -> None:
    """Read and add one entry of `rewrites`; the relation's wording is the default."""
    fields = known(place, item, REWRITE_KEYS)
    subject = place.at("subject").name(place.field(fields, "subject"))
    relation = place.at("relation").name(place.field(fields, "relation"))
    own = {key: fields[key] for key in RELATION_KEYS if key in fields}
    wording = wordings.get(relation)
    if wording is None and "prompt" not in own:
        hint = meant(relation, wordings)
        raise place.at("relation").error(f"{quoted(relation)} has no prompt in this graph{hint}")
    if own:
        plain = {} if wording is None else _wording_fields(wording)
        wording = _wording(place, plain | own)
    assert wording is not None
    forget = "forget" in fields
    if forget and ("target_new" in fields or fields["forget"] != "true"):
        raise place.at("forget").error("expected true, and no target_new beside it")
    target_new = "" if forget else place.at("target_new").name(place.field(fields, "target_new"))
    target_true = _target_true(place, fields, subject, relation, assembly)
    if folded(target_true) == folded(target_new):
        raise place.error(f"target_new and target_true are the same, {quoted(target_new)}")
    made = RewriteRequest.make_id(subject, relation, target_new, target_true)
    id_ = place.at("id").name(fields.get("id", made))
    if ":" in id_:
        raise place.at("id").error(
            f"{quoted(id_)} has a colon, as only rewrites of a user's own do"
        )
    request = RewriteRequest(
        id=id_,
        dataset=assembly.name,
        prompt=wording.prompt,
        subject=subject,
        relation=relation,
        target_true=target_true,
        target_new=target_new,
        question=None if wording.question is None else fill(wording.question, subject),
        paraphrases=wording.paraphrases,
        checks=_checks(place.at("checks"), fields.get("checks", [])),
    )
    if assembly.has_rewrite(request.id):
        raise place.error(f"the rewrite {quoted(request.id)} is already defined")
    assembly.rewrites.append(request)


def _checks(place: Place, item: object) -> tuple[Check, ...]:
    return tuple(_check(place.at(i), each) for i, each in enumerate(place.sequence(item)))


def _check(place: Place, item: object) -> Check:
    stated = known(place, item, CHECK_KEYS)
    for name in ("criterion", "prompt", "answers"):
        place.field(stated, name)

    def value(name: str) -> Any:
        there, found = place.at(name), stated[name]
        if name == "conditions":
            return _checks(there, found)
        if name == "further":
            return tuple(_texts(there.at(i), each) for i, each in enumerate(there.sequence(found)))
        if name in ("answers", "old_answers", "wrong"):
            return _texts(there, found)
        if name == "every":
            return there.text(found) == "true"
        if name in ("pre", "post"):
            return _number(there, found)
        return there.text(found)

    return Check(**{name: value(name) for name in stated})


def _texts(place: Place, item: object) -> tuple[str, ...]:
    return tuple(place.at(i).text(each) for i, each in enumerate(place.sequence(item)))


def _number(place: Place, item: object) -> float:
    text = place.text(item)
    try:
        return float(text)
    except ValueError:
        raise place.error(f"expected a number, found {quoted(text)}") from None


def _wording_fields(wording: Wording) -> dict[str, object]:
    fields: dict[str, object] = {"prompt": wording.prompt, "paraphrases": [*wording.paraphrases]}
    return fields if wording.question is None else fields | {"question": wording.question}


def _target_true(
    place: Place, fields: dict[str, Any], subject: str, relation: str, assembly: GraphAssembly
) -> str:
    if "target_true" in fields:
        return place.at("target_true").name(fields["target_true"])
    objects = unique(fact.object for fact in assembly.facts_about(subject, relation))
    if len(objects) != 1:
        found = f"{len(objects)} objects: {enumeration(objects)}" if objects else "no fact"
        raise SchemaError(
            place.path,
            f"{place.where}, target_true",
            "is missing, and the facts do not determine it: "
            f"{quoted(subject)} {quoted(relation)} has {found}",
        )
    return objects[0]


def _add_entities(place: Place, item: object, assembly: GraphAssembly) -> None:
    for name, entry in place.mapping(item).items():
        there = place.at(quoted(name))
        there.name(name)
        fields = known(there, entry, ENTITY_KEYS)
        listed = there.at("aliases").sequence(fields.get("aliases", []))
        assembly.aliases[name] = tuple(
            there.at(f"aliases[{i}]").name(value) for i, value in enumerate(listed)
        )
        if "kind" in fields:
            assembly.kinds[name] = there.at("kind").name(fields["kind"])


def _report_unused(wordings: dict[str, Wording], assembly: GraphAssembly) -> None:
    used = {fact.relation for fact in assembly.facts} | {r.relation for r in assembly.rewrites}
    unused = [relation for relation in wordings if relation not in used]
    if unused:
        assembly.note(
            "flagged", f"{len(unused)} relations", f"no fact uses them: {examples(unused)}"
        )
