"""PEAK (Ma et al. 2024): requests to append an answer, with correct and false answers.

`PEAK_counter.json` and `PEAK_time.json` are lists of records with `case_id`, `requested_rewrite`
(`prompt` with {} for the subject, `relation_id`, `target_new` and `target_true` with `str`,
`subject`), `postive_list` (the correct answers O, as the files spell it), `negtive_list` (hard
false answers), `negtive_random_list` (random ones), `para_add_prompts` (complete texts) and
`neighborhood_prompts` (pairs of a complete prompt and its answer).

The graph has one fact (subject, relation_id, o) for each correct answer o. False answers are no
facts; they belong to the request, a `RewriteRequest` with `correct`, `hard` and `random`.

Names are used as they are written, such as `Titanic (film)`: P(answer | prompt) depends on the
spelling, so names that differ only in case are different entities here.

Irregular requests are kept and reported: target_new that is a correct answer already, and names
that are both correct and hard, with a note each; names that differ only in case or spaces, and
others, with one note for all requests.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from .assembly import GraphAssembly
from .edit_records import (
    Edit,
    Placed,
    fact_of,
    number_of,
    read_records,
    slotted,
    texts,
)
from .reading.json_stream import head
from .reading.sources import Place, default_name
from .records import LoadedGraph, RewriteRequest, slug
from .texts import enumeration, examples, quoted

SUMMARY = "PEAK: PEAK_counter.json or PEAK_time.json, requests to append an answer"

LISTS = {"correct": "postive_list", "hard": "negtive_list", "random": "negtive_random_list"}
"""The lists of a record, by their names in a request."""

KNOWN = "target_new is a correct answer already"
BOTH = "a name is both correct and hard"


def recognises(path: Path) -> bool:
    """Return True if the file is PEAK's; reads only its beginning."""
    text = head(path)
    return '"requested_rewrite"' in text and '"postive_list"' in text


def load(path: Path | str, *, name: str | None = None, limit: int | None = None) -> LoadedGraph:
    """Read a PEAK file.

    Args:
        path: the file.
        name: the data set's name; by default the file's.
        limit: number of records to read, from the beginning.

    Raises:
        UnreadableFileError: the file is missing, cut off, or not JSON.
        SchemaError: no record is usable; single unusable records are refused in the report.
    """
    path = Path(path)
    assembly = GraphAssembly(name or default_name(path), distinct_spellings=True)

    def parse(place: Place, record: dict[str, Any]) -> Edit:
        return _edit(place, record, assembly.name)

    placed = Placed()
    for edit in read_records(path, assembly, limit, parse):
        if (merged := placed.add(edit)) is not None:
            assembly.note("merged", merged, f"record {edit.number} repeats it")
    for request in placed.requests.values():
        assembly.rewrites.append(request)
        assembly.facts.extend(fact_of(request, answer) for answer in dict.fromkeys(request.correct))
    _report(assembly)
    return assembly.finish(str(path), "peak")


def _edit(place: Place, record: dict[str, Any], dataset: str) -> Edit:
    there = place.at("requested_rewrite")
    rewrite = there.mapping(place.field(record, "requested_rewrite"))
    subject = there.at("subject").object_name(there.field(rewrite, "subject"))
    prompt = there.at("prompt").prompt(there.field(rewrite, "prompt"))
    target = there.at("target_new").mapping(there.field(rewrite, "target_new"))
    new = there.at("target_new.str").object_name(there.at("target_new").field(target, "str"))
    relation = str(rewrite.get("relation_id") or slug(prompt.replace("{}", " ")))
    there.at("relation_id").name(relation)
    lists = {key: _names(place, record, name) for key, name in LISTS.items()}
    if len(lists["correct"]) < 2:
        raise place.at(LISTS["correct"]).error(
            f"an answer is added to at least two; there are {len(lists['correct'])}"
        )
    if not lists["hard"]:
        raise place.at(LISTS["hard"]).error("there is no hard false answer")
    near = [_pair(place, i, pair) for i, pair in enumerate(_listed(place, record))]
    request = RewriteRequest(
        id=RewriteRequest.make_id(subject, relation, new),
        dataset=dataset,
        prompt=prompt,
        subject=subject,
        relation=relation,
        target_true=lists["correct"][0],
        target_new=new,
        paraphrases=tuple(slotted(t, subject) for t in texts(place, record, "para_add_prompts")),
        n_records=1,
        neighborhood=tuple(text for text, _ in near),
        neighborhood_objects=tuple(answer for _, answer in near),
        correct=lists["correct"],
        hard=lists["hard"],
        random=lists["random"],
    )
    return Edit(request, number_of(place, record))


def _names(place: Place, record: dict[str, Any], name: str) -> tuple[str, ...]:
    listed = place.at(name).sequence(place.field(record, name))
    return tuple(place.at(f"{name}[{i}]").name(value) for i, value in enumerate(listed))


def _listed(place: Place, record: dict[str, Any]) -> list[Any]:
    return place.at("neighborhood_prompts").sequence(record.get("neighborhood_prompts", []))


def _pair(place: Place, i: int, pair: Any) -> tuple[str, str]:
    there = place.at(f"neighborhood_prompts[{i}]")
    both = there.sequence(pair)
    if len(both) != 2:
        raise there.error("not a pair of a prompt and its answer")
    return there.text(both[0]), there.name(both[1])


def _report(assembly: GraphAssembly) -> None:
    """Count the answers, and note irregular requests; they are kept."""
    found: dict[str, list[str]] = defaultdict(list)
    for key in (*LISTS, "paraphrases", "neighborhood"):
        assembly.read[key] = sum(len(getattr(r, key)) for r in assembly.rewrites)
    for request in assembly.rewrites:
        for problem in _irregular(request):
            found[problem].append(request.id)
            if (names := _irregular_names(request, problem)) is not None:
                assembly.note("flagged", f"request {quoted(request.id)}", f"{problem}: {names}")
    for problem, ids in found.items():
        assembly.note("flagged", f"{len(ids)} requests", f"{problem}: {examples(ids)}")


def _irregular_names(request: RewriteRequest, problem: str) -> str | None:
    """The names that a note about this request alone shows; None if it gets none."""
    if problem == KNOWN:
        return quoted(request.target_new)
    if problem == BOTH:
        return enumeration(name for name in request.hard if name in request.correct)
    return None


def _irregular(request: RewriteRequest) -> list[str]:
    correct, hard = set(request.correct), set(request.hard)
    every = (*request.correct, request.target_new, *request.hard, *request.random)
    return [
        problem
        for problem, holds in {
            KNOWN: request.target_new in correct,
            "target_new is among the false answers": request.target_new
            in hard | set(request.random),
            BOTH: bool(correct & hard),
            "a name is both correct and random": bool(correct & set(request.random)),
            "a list repeats a name": any(
                len(set(names)) < len(names)
                for names in (request.correct, request.hard, request.random)
            ),
            "two names differ only in case or spaces": len({_plain(n) for n in every})
            < len(set(every)),
            "a paraphrase holds target_new": any(
                request.target_new in text for text in request.paraphrases
            ),
        }.items()
        if holds
    ]


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())
