"""CounterFact (Meng et al. 2022): counterfactual edits with paraphrases and neighborhoods.

`counterfact.json` and `multi_counterfact.json` are lists of records with `case_id`,
`requested_rewrite` (`prompt` with {} for the subject, `relation_id`, `target_new` and `target_true`
with `str` and `id`, `subject`), `paraphrase_prompts`, `neighborhood_prompts` (about other subjects;
their answer is target_true), `generation_prompts` and `attribute_prompts` (which no metric
uses). The lists are optional; all prompts but the first are complete texts.

The graph has one fact (subject, relation_id, target_true) per record. There are few chains besides
the edited facts themselves, so IFR means little here. A rewrite request includes the neighborhood
and generation prompts.

Reference texts for consistency come from `attribute_snippets.json` (option `snippets`), a list of
`relation_id`, `target_id` and `samples` (`name`, `text`): texts about other subjects that have
target_new, at most REFERENCES of them in the file's order (the published evaluation uses all of
them, a gigabyte).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from .assembly import GraphAssembly
from .edit_records import Edit, add_edits, number_of, read_records, slotted, target_of, texts
from .reading.json_stream import head, items
from .reading.sources import Place, default_name
from .records import LoadedGraph, RewriteRequest, slug
from .texts import examples, folded, quoted

SUMMARY = "CounterFact: counterfact.json or multi_counterfact.json"

REFERENCES = 10
"""Reference texts per rewrite."""

OTHERS = ("chain", "chains", "broader_context", "postive_list", "single_hops", "post")
"""Keys of other sets whose records have a `requested_rewrite`."""

Target = tuple[str, str]
"""relation_id and the id of an object."""


def recognises(path: Path) -> bool:
    """Return True if the file is CounterFact; reads only its beginning."""
    text = head(path)
    needed = ("requested_rewrite", "target_true")
    return all(f'"{key}"' in text for key in needed) and not any(
        f'"{key}"' in text for key in OTHERS
    )


def load(
    path: Path | str,
    *,
    name: str | None = None,
    limit: int | None = None,
    snippets: Path | str | None = None,
) -> LoadedGraph:
    """Read a CounterFact file.

    Args:
        path: the file.
        name: the data set's name; by default the file's.
        limit: number of records to read, from the beginning.
        snippets: `attribute_snippets.json`, for reference texts.

    Raises:
        UnreadableFileError: a file is missing, cut off, or not JSON.
        SchemaError: no record is usable; single unusable records are refused in the report.
    """
    path = Path(path)
    assembly = GraphAssembly(name or default_name(path))
    wanted: dict[str, Target] = {}

    def parse(place: Place, record: dict[str, Any]) -> Edit:
        return _edit(place, record, assembly, wanted)

    edits = read_records(path, assembly, limit, parse)
    if snippets is not None:
        edits = _with_references(edits, wanted, Path(snippets), assembly)
    add_edits(edits, assembly)
    return assembly.finish(str(path), "counterfact")


def _edit(
    place: Place, record: dict[str, Any], assembly: GraphAssembly, wanted: dict[str, Target]
) -> Edit:
    there = place.at("requested_rewrite")
    found = place.field(record, "requested_rewrite")
    if isinstance(found, list):
        if len(found) != 1:
            raise there.error(f"expected one rewrite, found {len(found)}")
        found = found[0]
    rewrite = there.mapping(found)
    subject = there.at("subject").object_name(there.field(rewrite, "subject"))
    prompt = there.at("prompt").prompt(there.field(rewrite, "prompt"))
    true, new = (target_of(there, rewrite, key, assembly) for key in ("target_true", "target_new"))
    if folded(true) == folded(new):
        raise there.error(f"target_new and target_true are the same, {quoted(true)}")
    relation = str(rewrite.get("relation_id") or slug(prompt.replace("{}", " ")))
    there.at("relation_id").name(relation)
    number = number_of(place, record)
    paraphrases = (slotted(t, subject) for t in texts(place, record, "paraphrase_prompts"))
    request = RewriteRequest(
        id=RewriteRequest.make_id(subject, relation, new),
        dataset=assembly.name,
        prompt=prompt,
        subject=subject,
        relation=relation,
        target_true=true,
        target_new=new,
        paraphrases=tuple(paraphrases),
        n_records=1,
        neighborhood=texts(place, record, "neighborhood_prompts"),
        generation_prompts=texts(place, record, "generation_prompts"),
    )
    wanted[number] = (relation, str(rewrite["target_new"].get("id", "")))
    return Edit(request, number)


def _with_references(
    edits: list[Edit], wanted: dict[str, Target], file: Path, assembly: GraphAssembly
) -> list[Edit]:
    """Add reference texts to the edits, except texts about the edit's own subject."""
    found = _samples(file, set(wanted.values()), assembly)
    result: list[Edit] = []
    without: list[str] = []
    for edit in edits:
        others = [t for name, t in found[wanted[edit.number]] if name != edit.request.subject]
        if not others:
            without.append(edit.request.id)
        references = tuple(others[:REFERENCES])
        result.append(Edit(replace(edit.request, reference_texts=references), edit.number))
    if without:
        assembly.note(
            "flagged",
            f"{len(without)} rewrites",
            f"have no reference text in {file.name}: {examples(without)}",
        )
    return result


def _samples(
    file: Path, wanted: set[Target], assembly: GraphAssembly
) -> dict[Target, list[tuple[str, str]]]:
    """Name and text of the first REFERENCES + 1 samples of each target.

    One more than needed, because one of them may be about the edit's own subject.
    """
    found: dict[Target, list[tuple[str, str]]] = defaultdict(list)
    left_out = 0
    for item in items(file):
        place = Place(file, f"item {item.index}")
        if item.problem is not None:
            raise place.error(item.problem)
        entry = place.mapping(item.value)
        target = (str(place.field(entry, "relation_id")), str(place.field(entry, "target_id")))
        if target not in wanted:
            continue
        samples = place.at("samples").sequence(place.field(entry, "samples"))
        for i, sample in enumerate(samples):
            if len(found[target]) > REFERENCES:
                left_out += len(samples) - i
                break
            there = place.at(f"samples[{i}]")
            fields = there.mapping(sample)
            text = there.at("text").text(there.field(fields, "text"))
            found[target].append((str(fields.get("name", "")), text))
    assembly.read["reference texts"] = sum(len(texts_) for texts_ in found.values())
    if left_out:
        assembly.note(
            "flagged",
            f"{left_out} reference texts",
            f"are left out: a rewrite has at most {REFERENCES}",
        )
    return found
