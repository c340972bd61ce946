"""Rewrite requests for a set of triples: the base triple and its new object.

`triples.py` describes the sources of the new object and their order.
"""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from . import graph_yaml
from .assembly import GraphAssembly
from .errors import LoaderError, SchemaError
from .graph_yaml import Wording
from .knowgic_records import read_records
from .reading.sources import Place, read_yaml
from .records import Fact, as_template, slot_parts, slug
from .texts import folded, quoted
from .triple_files import (
    BASE_FILE,
    REWRITES_FILE,
    REWRITES_TABLE,
    Sources,
    Triple,
    numbered,
    read_columns,
)
from .wording import from_relation

KNOWGIC_FILE = "chains.json"
BASE_COLUMNS = ("Attributes", "Relationships")
NEEDED = ("subject", "relation", "target_new")
HOW_TO_GIVE = (
    f"give it with --target-new (option `target_new`), or in a {REWRITES_FILE} in the same folder"
)


def add_rewrites(sources: Sources, target_new: str | None, assembly: GraphAssembly) -> None:
    """Add the rewrites of `rewrites.yaml` and of the base triples, after the facts."""
    wanted = _read_base(sources.base) if sources.base else []
    assembly.read["base triples"] = len(wanted)
    if target_new is not None and not wanted:
        raise LoaderError(
            f"{sources.facts}: target_new {quoted(target_new)} is given, but no {BASE_FILE} in "
            "its folder names the fact to edit",
            remedy=f"Write the rewrite in a {REWRITES_FILE} in the same folder instead.",
        )
    phrases = _Phrases(assembly.facts)
    for file in sources.rewrites:
        _read_rewrites(file, phrases, assembly)
    for triple in wanted:
        earlier = assembly.rewrites_about(triple.subject, triple.relation)
        asked = [rewrite.target_new for rewrite in earlier]
        if target_new in asked or (asked and target_new is None):
            continue
        _add_base(sources, triple, target_new, phrases, assembly)


def add_row_rewrites(
    triples: Iterable[Triple],
    wordings: Mapping[tuple[str, str, str], Wording],
    assembly: GraphAssembly,
) -> None:
    """Add a rewrite for each row of a table that has a new object."""
    for triple in triples:
        if not triple.target_new:
            continue
        item: dict[str, object] = {
            "subject": triple.subject,
            "relation": triple.relation,
            "target_true": triple.object,
            "target_new": triple.target_new,
        }
        asked = (as_template(text, triple.subject) for text in triple.questions)
        if question := next((text for text in asked if len(slot_parts(text)) == 2), None):
            item["question"] = question
        wording = wordings[triple.key]
        try:
            graph_yaml.add_rewrite(triple.place, item, {triple.relation: wording}, assembly)
        except SchemaError as error:
            assembly.refuse(error, triple.place.path.name)


def _read_base(file: Path) -> list[Triple]:
    triples: list[Triple] = []
    for place, cells in read_columns(file, BASE_COLUMNS):
        ends = [end.strip() for end in cells["Attributes"].split("->")]
        if len(ends) != 2 or not all(ends):
            raise place.at("Attributes").error("expected 'subject->object'")
        relation = place.at("Relationships").name(cells["Relationships"])
        subject, object_ = (place.at("Attributes").name(end) for end in ends)
        triples.append(Triple(subject, relation, object_, place))
    return triples


def _read_rewrites(file: Path, phrases: _Phrases, assembly: GraphAssembly) -> None:
    if file.name == REWRITES_TABLE:
        found = [(place, _item(place, cells)) for place, cells in read_columns(file, NEEDED)]
    else:
        listed = Place(file, "").sequence(read_yaml(file))
        found = [(Place(file, f"rewrites[{i}]"), item) for i, item in enumerate(listed)]
    for place, item in found:
        subject = item.get("subject") if isinstance(item, dict) else None
        graph_yaml.add_rewrite(place, item, phrases.of(subject), assembly)


def _item(place: Place, cells: Mapping[str, str]) -> dict[str, object]:
    """Return a row as an entry of `rewrites.yaml`.

    A row with a prompt of its own has its own paraphrases too, which may be none.
    """
    item: dict[str, object] = {
        column: text
        for column, text in cells.items()
        if text and not column.startswith("paraphrase")
    }
    paraphrases = numbered(place, cells, "paraphrase")
    return item | {"paraphrases": paraphrases} if paraphrases or "prompt" in item else item


class _Phrases:
    """Wordings of each relation, by subject."""

    def __init__(self, facts: list[Fact]) -> None:
        self._of_any: dict[str, Wording] = {}
        self._of_subject: dict[object, dict[str, Wording]] = defaultdict(dict)
        for fact in sorted(facts, key=lambda fact: (fact.subject, fact.object)):
            wording = Wording(fact.prompt, None, fact.paraphrases)
            self._of_any.setdefault(fact.relation, wording)
            self._of_subject[fact.subject].setdefault(fact.relation, wording)

    def of(self, subject: object) -> Mapping[str, Wording]:
        """Relation -> wording, from the subject's fact if it has one, or else from any fact."""
        own = self._of_subject.get(subject, {}) if isinstance(subject, str) else {}
        return ChainMap(own, self._of_any)


def _add_base(
    sources: Sources,
    triple: Triple,
    target_new: str | None,
    phrases: _Phrases,
    assembly: GraphAssembly,
) -> None:
    where = f"{triple.place.path.name}, {triple.place.where}"
    if target_new is None:
        target_new, source = _target_from_knowgic(sources.facts.parent, triple)
        if target_new is None:
            stated = f"{triple.subject} {triple.relation} {triple.object}"
            assembly.note(
                "refused",
                where,
                f"the rewrite of {quoted(stated)} has no target_new: {HOW_TO_GIVE}",
            )
            return
        assembly.note(
            "repaired",
            where,
            f"target_new {quoted(target_new)} is not in these files; taken from the same rewrite "
            f"in {source}",
        )
    item = {
        "subject": triple.subject,
        "relation": triple.relation,
        "target_true": triple.object,
        "target_new": target_new,
    }
    wordings = phrases.of(triple.subject)
    if triple.relation not in wordings:
        wordings = {triple.relation: Wording(from_relation(triple.relation))}
    known = assembly.facts_about(triple.subject, triple.relation)
    if folded(triple.object) not in {folded(fact.object) for fact in known}:
        assembly.note("flagged", where, f"the fact to edit is not listed in {sources.facts.name}")
    graph_yaml.add_rewrite(triple.place, item, wordings, assembly)


def _target_from_knowgic(folder: Path, triple: Triple) -> tuple[str | None, str]:
    """The target_new of this subject and relation in a `chains.json` nearby, and its file name."""
    for file in (folder / KNOWGIC_FILE, folder.resolve().parent / KNOWGIC_FILE):
        if not file.is_file():
            continue
        try:
            requests = {record.request for record in read_records(file)}
        except LoaderError:
            continue  # Only a hint here; importing that file reports its errors.
        targets = {
            request.target_new
            for request in requests
            if folded(request.subject) == folded(triple.subject)
            and slug(request.prompt) == slug(triple.relation)
        }
        if len(targets) == 1:
            return targets.pop(), file.name
    return None, ""
