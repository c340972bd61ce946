"""MQuAKE (Zhong et al. 2023): multi-hop questions whose answer one or several edits change.

`MQuAKE-CF.json`, `MQuAKE-CF-3k.json`, `MQuAKE-T.json` and files of their form are lists of cases
with `case_id`, `requested_rewrite` (one to four edits as in CounterFact, each with a `question`),
`questions` (three wordings of one multi-hop question), `answer`, `answer_alias`, `new_answer`,
`new_answer_alias`, `single_hops` and `new_single_hops` (`question`, `cloze`, `answer`,
`answer_alias`) and `orig` (`triples` of ids and `triples_labeled`, of the same length as
`single_hops`, and the same after the edits with `new_` before the names).

The facts are the triples of `orig`, with the prompt and question of their single hop, and the facts
that the edits replace. The relation is the property's id (`P27`). The facts of a case are the scope
of its edits (`Fact.cases`). Each edit is a request whose id begins with its case,
`case-7417--hey-jude--p175--madonna`. `thinkeval lab sequence -g GRAPH --batch 4 ID ID ID ID` edits
the requests of a case jointly.

Each request has the questions of its case as checks: `multi_hop`, three of one group, of which one
correct answer is enough, and `single_hop` for each hop after the edits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .assembly import GraphAssembly
from .edit_records import fact_of, number_of, read_records, target_of
from .reading.json_stream import head
from .reading.sources import Place, default_name
from .records import (
    LITERAL_SLOT,
    Check,
    Fact,
    LoadedGraph,
    RewriteRequest,
    as_template,
    fill,
    slot_parts,
    unique,
)
from .texts import examples, folded, quoted

SUMMARY = "MQuAKE: MQuAKE-CF, CF-3k, T or hard, multi-hop questions with joint edits"


@dataclass(frozen=True, slots=True)
class _Hop:
    """One single hop of a chain, with its triple."""

    subject: str
    relation: str
    object: str
    answers: tuple[str, ...]
    cloze: str
    question: str


@dataclass(frozen=True, slots=True)
class _Case:
    """A record: the requests, and the hops before and after the edits."""

    requests: tuple[RewriteRequest, ...]
    hops: tuple[_Hop, ...]
    new_hops: tuple[_Hop, ...]


def recognises(path: Path) -> bool:
    """Return True if the file is MQuAKE's; reads only its beginning."""
    text = head(path)
    return '"requested_rewrite"' in text and '"single_hops"' in text


def load(path: Path | str, *, name: str | None = None, limit: int | None = None) -> LoadedGraph:
    """Read an MQuAKE file.

    Args:
        path: the file.
        name: the data set's name; by default the file's.
        limit: number of cases to read, from the beginning.

    Raises:
        UnreadableFileError: the file is missing, cut off, or not JSON.
        SchemaError: no case is usable; single unusable cases are refused in the report.
    """
    path = Path(path)
    assembly = GraphAssembly(name or default_name(path))
    numbers: Counter[str] = Counter()

    def parse(place: Place, record: dict[str, Any]) -> _Case:
        return _case(place, record, assembly, numbers)

    cases = read_records(path, assembly, limit, parse)
    aliases: dict[str, dict[str, None]] = defaultdict(dict)
    for case in cases:
        _add(case, assembly, aliases)
    for name_, found in aliases.items():
        assembly.aliases[name_] = tuple(each for each in found if each != name_)
    assembly.read["rewrites"] = sum(len(case.requests) for case in cases)
    assembly.read["questions"] = sum(
        check.criterion == "multi_hop" for case in cases for check in case.requests[0].checks
    )
    repeated = [f"{number} ({n} records)" for number, n in numbers.items() if n > 1]
    if repeated:
        assembly.note(
            "flagged",
            f"{len(repeated)} case ids",
            f"are given to several records; later ones have a number behind it:"
            f" {examples(repeated)}",
        )
    return assembly.finish(str(path), "mquake")


def _case(
    place: Place, record: dict[str, Any], assembly: GraphAssembly, numbers: Counter[str]
) -> _Case:
    listed = place.at("requested_rewrite").sequence(place.field(record, "requested_rewrite"))
    if not listed:
        raise place.at("requested_rewrite").error("is empty")
    hops = _hops(place, record, "", assembly)
    new_hops = _hops(place, record, "new_", assembly)
    number = number_of(place, record)
    numbers[number] += 1
    if numbers[number] > 1:
        number = f"{number}-{numbers[number]}"
    checks = _checks(place, record, number, hops, new_hops, assembly)
    requests: dict[str, RewriteRequest] = {}
    for i, item in enumerate(listed):
        there = place.at(f"requested_rewrite[{i}]")
        request = _request(there, item, number, checks, assembly)
        if request.id in requests:
            raise there.error(f"the same edit is listed twice: {quoted(request.id)}")
        requests[request.id] = request
    return _Case(tuple(requests.values()), hops, new_hops)


def _request(
    place: Place, item: object, number: str, checks: tuple[Check, ...], assembly: GraphAssembly
) -> RewriteRequest:
    rewrite = place.mapping(item)
    subject = place.at("subject").object_name(place.field(rewrite, "subject"))
    prompt = place.at("prompt").prompt(place.field(rewrite, "prompt"))
    true, new = (target_of(place, rewrite, key, assembly) for key in ("target_true", "target_new"))
    if folded(true) == folded(new):
        raise place.error(f"target_new and target_true are the same, {quoted(true)}")
    relation = place.at("relation_id").name(place.field(rewrite, "relation_id"))
    asked = rewrite.get("question")
    return RewriteRequest(
        id=f"{number}--{RewriteRequest.make_id(subject, relation, new)}",
        dataset=assembly.name,
        prompt=prompt,
        subject=subject,
        relation=relation,
        target_true=true,
        target_new=new,
        question=None if asked is None else place.at("question").text(asked),
        n_records=1,
        checks=checks,
    )


def _hops(
    place: Place, record: dict[str, Any], new: str, assembly: GraphAssembly
) -> tuple[_Hop, ...]:
    key = f"{new}single_hops"
    listed = place.at(key).sequence(place.field(record, key))
    there = place.at("orig")
    orig = there.mapping(place.field(record, "orig"))
    triples, labeled = (
        there.at(each).sequence(there.field(orig, each))
        for each in (f"{new}triples", f"{new}triples_labeled")
    )
    if not len(listed) == len(triples) == len(labeled):
        raise place.error(
            f"{key} has {len(listed)} hops, orig has {len(triples)} {new}triples and"
            f" {len(labeled)} {new}triples_labeled; expected as many of each"
        )
    hops: list[_Hop] = []
    for i, item in enumerate(listed):
        at = place.at(f"{key}[{i}]")
        ids, names = (
            there.at(f"{new}{each}[{i}]").sequence(found[i])
            for each, found in (("triples", triples), ("triples_labeled", labeled))
        )
        if len(ids) != 3 or len(names) != 3:
            raise there.at(f"{new}triples[{i}]").error("expected subject, relation, object")
        hop = at.mapping(item)
        answers = _answers(at, hop, "answer", assembly)
        subject, object_ = (
            assembly.object_name(there.at(f"{new}triples_labeled[{i}]"), names[j]) for j in (0, 2)
        )
        cloze = as_template(at.at("cloze").text(at.field(hop, "cloze")), subject)
        if len(slot_parts(cloze)) == 1 or LITERAL_SLOT in cloze:
            raise at.at("cloze").error(f"does not name the subject {quoted(subject)} once")
        question = at.at("question").text(at.field(hop, "question"))
        relation = there.at(f"{new}triples[{i}]").name(ids[1])
        hops.append(_Hop(subject, relation, object_, unique((*answers, object_)), cloze, question))
    return tuple(hops)


def _answers(
    place: Place, record: dict[str, Any], key: str, assembly: GraphAssembly
) -> tuple[str, ...]:
    """An answer and its aliases."""
    first = assembly.object_name(place.at(key), place.field(record, key))
    aliases = place.at(f"{key}_alias").sequence(record.get(f"{key}_alias", []))
    more = (place.at(f"{key}_alias[{i}]").name(each) for i, each in enumerate(aliases))
    return unique((first, *more))


def _checks(
    place: Place,
    record: dict[str, Any],
    number: str,
    hops: tuple[_Hop, ...],
    new_hops: tuple[_Hop, ...],
    assembly: GraphAssembly,
) -> tuple[Check, ...]:
    asked = place.at("questions").sequence(place.field(record, "questions"))
    old, new = (_answers(place, record, key, assembly) for key in ("answer", "new_answer"))
    questions = (place.at(f"questions[{i}]").text(each) for i, each in enumerate(asked))
    before = {hop.question: hop.answers for hop in hops}
    return (
        *(Check("multi_hop", text, new, group=number, old_answers=old) for text in questions),
        *(
            Check(
                "single_hop",
                hop.question,
                hop.answers,
                group=number,
                every=True,
                old_answers=before.get(hop.question, ()),
            )
            for hop in new_hops
        ),
    )


def _add(case: _Case, assembly: GraphAssembly, aliases: dict[str, dict[str, None]]) -> None:
    """Add the facts and requests of a case to the graph, and its names to the aliases."""
    cases = tuple(request.id for request in case.requests)
    templates = {request.relation: request.prompt for request in case.requests}
    for hop in case.hops:
        template = templates.get(hop.relation, hop.cloze)
        # The relation's own prompt decides which mention of a subject is the placeholder.
        same = fill(template, hop.subject) == fill(hop.cloze, hop.subject)
        assembly.facts.append(
            Fact(
                hop.subject,
                hop.relation,
                hop.object,
                template if same else hop.cloze,
                (hop.question,),
                cases=cases,
            )
        )
    for hop in (*case.hops, *case.new_hops):
        aliases[hop.object].update(dict.fromkeys(hop.answers))
    for request in case.requests:
        fact = fact_of(request, request.target_true)
        assembly.facts.append(
            Fact(fact.subject, fact.relation, fact.object, fact.prompt, fact.questions, (), cases)
        )
        assembly.rewrites.append(request)
