"""RWKU (Jin et al. 2024): probes of what a model knows about a person that it shall forget.

`forget_level1.json` (sentences with a blank, `___`), `forget_level2.json` (questions) and
`forget_level3.json` (adversarial prompts) are lists of records with `query`, `answer`, `subject`,
`level` and at level 3 `type`.

A record of level 1 or 2 is a request to forget the fact (subject, relation, answer): its prompt is
the question, or the sentence up to the blank, with {} for the subject; the relation is the slug of
the prompt. Each request has its query as a check, `forget_level1` or `forget_level2`. A record of
level 3 is a check (`forget_level3/TYPE`) of the first request in the file with its subject and
answer, and is refused where there is none: join the files of the levels to one. A query that does
not name the subject (those about its neighbours) is refused.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from .assembly import GraphAssembly
from .edit_records import Edit, Relations, add_edits, number_of, prompt_of, read_records, to_forget
from .reading.json_stream import first_keys
from .reading.sources import Place, default_name
from .records import Check, LoadedGraph
from .texts import folded, quoted

SUMMARY = "RWKU: probes of three levels about persons to forget"
NEEDED = {"query", "answer", "subject", "level"}
_BLANK = re.compile(r"_{2,}")
Key = tuple[str, str]
"""A subject and an answer, as names are compared."""


def recognises(path: Path) -> bool:
    """Return True if the first record has RWKU's keys."""
    return first_keys(path) >= NEEDED


def load(path: Path | str, *, name: str | None = None, limit: int | None = None) -> LoadedGraph:
    """Read a file of RWKU's probes.

    Args:
        path: the file.
        name: the data set's name; by default the file's.
        limit: number of records to read, from the beginning.

    Raises:
        UnreadableFileError: the file is missing, cut off, or not JSON.
        SchemaError: no record is usable; single unusable records are refused in the report.
    """
    path = Path(path)
    assembly = GraphAssembly(name or default_name(path))
    relations = Relations()

    def parse(place: Place, record: dict[str, Any]) -> tuple[Place, Key, Edit | Check]:
        return _probe(place, record, assembly, relations)

    found = read_records(path, assembly, limit, parse)
    requests: dict[Key, int] = {}
    for i, (_, key, probe) in enumerate(found):
        if isinstance(probe, Edit):
            requests.setdefault(key, i)
    more: dict[int, list[Check]] = defaultdict(list)
    for place, key, probe in found:
        if isinstance(probe, Check) and key in requests:
            more[requests[key]].append(probe)
        elif isinstance(probe, Check):
            assembly.note("refused", place.where, f"{ALONE}: {quoted(key[0])}, {quoted(key[1])}")
    if not requests:
        raise Place(path, "records").error(ALONE)
    edits = [
        replace(probe, request=replace(probe.request, checks=(*probe.request.checks, *more[i])))
        for i, (_, _, probe) in enumerate(found)
        if isinstance(probe, Edit)
    ]
    add_edits(edits, assembly)
    assembly.read["checks"] = sum(len(edit.request.checks) for edit in edits)
    return assembly.finish(str(path), "rwku")


ALONE = (
    "a probe of level 3 belongs to a request of level 1 or 2 with its subject and answer, and none"
    " is in the file; join the files of the levels to one"
)


def _probe(
    place: Place, record: dict[str, Any], assembly: GraphAssembly, relations: Relations
) -> tuple[Place, Key, Edit | Check]:
    query = place.at("query").text(place.field(record, "query"))
    answer = assembly.object_name(place.at("answer"), place.field(record, "answer"))
    subject = place.at("subject").object_name(place.field(record, "subject"))
    level = str(place.field(record, "level"))
    if level not in ("1", "2", "3"):
        raise place.at("level").error(f"{quoted(level)} is none of the levels 1, 2, 3")
    key = (folded(subject), folded(answer))
    if level == "3":
        kind = str(record.get("type") or "other")
        return place, key, Check(f"forget_level3/{kind}", query, (answer,))
    there = place.at("query")
    prompt = prompt_of(there, _BLANK.split(query)[0].strip(), subject)
    request = to_forget(there, assembly.name, relations, subject, prompt, answer)
    check = Check(f"forget_level{level}", query, (answer,))
    asked = query if query.endswith("?") else None
    request = replace(request, question=asked, checks=(check,))
    return place, key, Edit(request, number_of(place, record))
