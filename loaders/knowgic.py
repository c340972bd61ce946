"""KnowGIC, the chain data set of ThinkEval: rewrites with their chains and broader context.

Baser et al., ThinkEval; https://github.com/manitbaser/KnowGIC (MIT). Two published layouts:

* `chains.json`: a list of records, each with a `requested_rewrite` (ROME's, in a list of one), one
  `chain` and its `broader_context`; both are objects of four parallel lists `questions`,
  `answers`, `prompts`, `subjects`. `case_id` numbers records, not rewrites.
* the grouped file of an earlier revision: one record per rewrite with `chains`, a list of such
  objects, and the union of the contexts. Its `case_id` is always 0.

In both, a rewrite is identified by (subject, prompt, target_true, target_new). The set has no
relation names; the relation of a fact is the slug of its prompt. The chains are not stored: they
are the simple paths from subject to target_true in the facts of the rewrite (`Fact.cases`).

`attributes_with_aliases.json`, `{entity: {"answer_alias": [...]}}`, is read from the same folder.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

from .assembly import GraphAssembly
from .knowgic_records import Record, Request, read_records
from .reading.json_stream import head
from .reading.sources import Place, default_name, read_json
from .records import Fact, LoadedGraph, RewriteRequest, slug
from .texts import examples, folded, quoted

SUMMARY = "KnowGIC: chains.json (or the grouped file, or the folder) with its aliases"
ALIASES_FILE = "attributes_with_aliases.json"
CHAINS_FILE = "chains.json"


def recognises(path: Path) -> bool:
    """Return True if the path is KnowGIC; reads only the beginning of a file."""
    if path.is_dir():
        return (path / CHAINS_FILE).is_file()
    text = head(path)
    return '"requested_rewrite"' in text and bool(re.search(r'"(chains?|broader_context)"', text))


def load(
    path: Path | str, *, name: str | None = None, aliases: Path | str | None = None
) -> LoadedGraph:
    """Read a KnowGIC file.

    Args:
        path: a `chains.json`, a grouped file, or the folder that contains them.
        name: the data set's name; by default the folder's or file's.
        aliases: the aliases file; by default the one in the same folder, if it exists.

    Raises:
        UnreadableFileError: a file is missing, not JSON, or cut off.
        SchemaError: a field of a record is missing or wrong; names file, record and field.
    """
    path = Path(path)
    file = path / CHAINS_FILE if path.is_dir() else path
    assembly = GraphAssembly(name or default_name(path))
    records = read_records(file)
    ids = rewrite_ids(records)
    for record in records:
        _check_chains(record, assembly)
    _add_facts(records, ids, assembly)
    _add_rewrites(records, ids, assembly)
    _add_aliases(file, Path(aliases) if aliases is not None else None, assembly)
    assembly.read |= {
        "records": len(records),
        "chains": sum(len(record.chains) for record in records),
        "links": sum(1 for record in records for _ in record.links),
    }
    return assembly.finish(str(path), "knowgic")


def rewrite_ids(records: list[Record]) -> dict[tuple[str, ...], str]:
    """A readable id for every distinct rewrite; two with the same id get target_true added."""
    requests = {record.request.key: record.request for record in records}
    relations = prompt_relations(records)
    plain = {
        key: RewriteRequest.make_id(r.subject, relations[r.prompt], r.target_new)
        for key, r in requests.items()
    }
    taken = Counter(plain.values())
    return {
        key: id_ if taken[id_] == 1 else f"{id_}--{slug(requests[key].target_true)}"
        for key, id_ in plain.items()
    }


def prompt_relations(records: list[Record]) -> dict[str, str]:
    """Prompt -> relation: its slug, with a number if two prompts share it (none do in KnowGIC)."""
    prompts = {link.prompt for record in records for link in record.links}
    by_slug: dict[str, list[str]] = defaultdict(list)
    for prompt in sorted(prompts | {record.request.prompt for record in records}):
        by_slug[slug(prompt)].append(prompt)
    return {
        prompt: name if i == 0 else f"{name}-{i + 1}"
        for name, sharing in by_slug.items()
        for i, prompt in enumerate(sharing)
    }


def _check_chains(record: Record, assembly: GraphAssembly) -> None:
    """Flag a chain whose links do not connect the subject with target_true."""
    for j, chain in enumerate(record.chains):
        ends = [record.request.subject, *(link.answer for link in chain)]
        starts = [*(link.subject for link in chain), record.request.target_true]
        for i, (end, start) in enumerate(zip(ends, starts, strict=True)):
            if folded(end) != folded(start):
                assembly.note(
                    "flagged",
                    f"{record.place.where}, chain {j}, link {i}",
                    f"the chain breaks: {quoted(start)} does not follow {quoted(end)}; its facts "
                    "are imported",
                )


def _add_facts(
    records: list[Record], ids: dict[tuple[str, ...], str], assembly: GraphAssembly
) -> None:
    """Add one fact per distinct link; one note reports the repeats."""
    relations = prompt_relations(records)
    cases: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    questions: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    listed = 0
    for record in records:
        for link in record.links:
            key = (link.subject, link.prompt, link.answer)
            cases[key].add(ids[record.request.key])
            questions[key].add(link.question)
            listed += 1
    assembly.note(
        "merged",
        f"{len(cases)} facts",
        f"listed {listed} times in chains and broader contexts; one fact each, with all its "
        "questions and the rewrites that list it",
    )
    for (subject, prompt, answer), of in cases.items():
        asked = tuple(sorted(questions[subject, prompt, answer], key=_question_order(subject)))
        assembly.facts.append(
            Fact(subject, relations[prompt], answer, prompt, asked, (), tuple(sorted(of)))
        )
    _report_questions(assembly)


def _question_order(subject: str):
    """Sort key of questions: first a single question, then one that names the subject."""
    return lambda text: (_is_glued(text), subject not in text, text)


def _is_glued(question: str) -> bool:
    """Return True if the text is two questions without a space, as in `Where ...?Which ...?`."""
    return "?" in question.rstrip().rstrip("?")


def _report_questions(assembly: GraphAssembly) -> None:
    glued = [quoted(q) for f in assembly.facts for q in f.questions if _is_glued(q)]
    several = [f"{f.subject} {f.relation}" for f in assembly.facts if len(f.questions) > 1]
    for items, reason in (
        (sorted(glued), "are two questions in one text; used only if there is no other"),
        (sorted(several), "facts with more than one question; the first is used, all are stored"),
    ):
        if items:
            assembly.note("flagged", f"{len(items)} questions", f"{reason}: {examples(items)}")


def _add_rewrites(
    records: list[Record], ids: dict[tuple[str, ...], str], assembly: GraphAssembly
) -> None:
    """Add one rewrite request per distinct id, with question and paraphrases from the facts.

    The data set has no paraphrases of rewrites. Another prompt in it with the same subject and the
    same target_true is used as one.
    """
    relations = prompt_relations(records)
    requests: dict[str, Request] = {}
    chains: dict[str, int] = defaultdict(int)
    for record in records:
        id_ = ids[record.request.key]
        requests.setdefault(id_, record.request)
        chains[id_] += len(record.chains)
    derived: list[str] = []
    by_ends: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in assembly.facts:
        by_ends[folded(fact.subject), folded(fact.object)].append(fact)
    for id_, request in sorted(requests.items()):
        relation = relations[request.prompt]
        ends = (folded(request.subject), folded(request.target_true))
        direct = _own_first(by_ends.get(ends, []), relation)
        paraphrases = tuple(sorted({f.prompt for f in direct if f.relation != relation}))
        if paraphrases:
            derived.append(f"{id_}: {', '.join(paraphrases)}")
        question = next((f.question for f in direct if f.question), None)
        assembly.rewrites.append(
            RewriteRequest(
                id=id_,
                dataset=assembly.name,
                prompt=request.prompt,
                subject=request.subject,
                relation=relation,
                target_true=request.target_true,
                target_new=request.target_new,
                question=question,
                paraphrases=paraphrases,
                n_records=chains[id_],
            )
        )
    if derived:
        assembly.note(
            "repaired",
            f"{len(derived)} rewrites",
            "the file has no paraphrases; taken from its other prompts between the same subject "
            f"and target_true: {examples(derived)}",
        )


def _own_first(facts: list[Fact], relation: str) -> list[Fact]:
    """The facts sorted: those with the relation, then the others."""
    return sorted(facts, key=lambda fact: (fact.relation != relation, fact.relation, fact.object))


def _add_aliases(file: Path, given: Path | None, assembly: GraphAssembly) -> None:
    source = given or file.with_name(ALIASES_FILE)
    if given is None and not source.exists():
        assembly.note(
            "flagged",
            ALIASES_FILE,
            "is not in the chains' folder, so no entity has aliases; use the option `aliases`",
        )
        return
    add_aliases(source, assembly)


def add_aliases(source: Path, assembly: GraphAssembly) -> None:
    """Read a file of aliases, and flag the entities that it does not list."""
    place = Place(source, "")
    for name, entry in place.mapping(read_json(source)).items():
        there = Place(source, f"entity {quoted(name)}")
        there.name(name)
        listed = there.field(there.mapping(entry), "answer_alias")
        values = there.at("answer_alias").sequence(listed)
        assembly.aliases[name] = tuple(
            there.at(f"answer_alias[{i}]").name(value) for i, value in enumerate(values)
        )
    known = {folded(name) for name in assembly.aliases}
    names = {n for f in assembly.facts for n in (f.subject, f.object)}
    for rewrite in assembly.rewrites:
        names |= {rewrite.target_true, rewrite.target_new}
    without = sorted(name for name in names if folded(name) not in known)
    if without:
        assembly.note(
            "flagged",
            f"{len(without)} entities",
            f"have no entry in {source.name}, so they have no aliases: {examples(without)}",
        )
    assembly.read["aliases"] = sum(len(values) for values in assembly.aliases.values())
