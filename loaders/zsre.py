"""zsRE as used by the editing papers (`zsre_mend_eval.json`).

A list of records with `subject`, `src` (a question about it), `rephrase`, `answers` (correct ones),
`alt` (another answer), `loc` and `loc_ans` (an unrelated question of Natural Questions with its
answer), `pred` (the answer of MEND's model) and `cond`; the last two are not used.

The edit is answers[0] -> alt, so that there is an old object. (Meng et al. 2022 and 2023 install
answers[0] with this file, in a model that does not know it; then there is no old object, and
nothing to deduce.) The prompt is the question with {} for the subject, and the answer follows it,
as in their evaluation. The relation is the slug of the prompt. `loc` with a question mark is the
neighborhood, with its own answer: it is specific if that answer remains likelier than `alt`.
The zsRE scores of those papers are fractions of correct tokens and not probabilities, so they are
not comparable.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .assembly import GraphAssembly
from .edit_records import Edit, Relations, add_edits, number_of, prompt_of, read_records, slotted
from .reading.json_stream import head
from .reading.sources import Place, default_name
from .records import LoadedGraph, RewriteRequest
from .texts import examples, folded, quoted

SUMMARY = "zsRE: zsre_mend_eval.json (subject, src, alt, answers, rephrase, loc)"


def recognises(path: Path) -> bool:
    """Return True if the file is zsRE; reads only its beginning."""
    text = head(path)
    return all(f'"{key}"' in text for key in ("src", "alt", "answers"))


def load(path: Path | str, *, name: str | None = None, limit: int | None = None) -> LoadedGraph:
    """Read a zsRE file.

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
    several: list[str] = []

    def parse(place: Place, record: dict[str, Any]) -> Edit:
        return _edit(place, record, assembly, relations, several)

    add_edits(read_records(path, assembly, limit, parse), assembly)
    if several:
        assembly.note(
            "flagged",
            f"{len(several)} records",
            f"have several correct answers; the first is target_true: {examples(several)}",
        )
    return assembly.finish(str(path), "zsre")


def _edit(
    place: Place,
    record: dict[str, Any],
    assembly: GraphAssembly,
    relations: Relations,
    several: list[str],
) -> Edit:
    def text(key: str) -> str:
        return place.at(key).text(place.field(record, key))

    subject = place.at("subject").object_name(place.field(record, "subject"))
    new = assembly.object_name(place.at("alt"), place.field(record, "alt"))
    question = text("src")
    answers = place.at("answers").sequence(place.field(record, "answers"))
    if not answers:
        raise place.at("answers").error("is empty, so there is no target_true")
    true = assembly.object_name(place.at("answers[0]"), answers[0])
    if folded(true) == folded(new):
        raise place.error(f"alt and the first answer are the same, {quoted(true)}")
    prompt = prompt_of(place.at("src"), question, subject)
    near, answer = (), ()
    if "loc" in record:
        near = (text("loc").rstrip("?") + "?",)
        answer = (assembly.text(place.at("loc_ans"), place.field(record, "loc_ans")),)
    relation = place.at("src").name(relations[prompt])
    request = RewriteRequest(
        id=RewriteRequest.make_id(subject, relation, new),
        dataset=assembly.name,
        prompt=prompt,
        subject=subject,
        relation=relation,
        target_true=true,
        target_new=new,
        question=question,
        paraphrases=(slotted(text("rephrase"), subject),) if "rephrase" in record else (),
        n_records=1,
        neighborhood=near,
        neighborhood_objects=answer,
    )
    if len(set(map(str, answers))) > 1:
        several.append(place.where)
    return Edit(request, number_of(place, record))
