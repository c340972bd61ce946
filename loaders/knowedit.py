"""KnowEdit (Zhang et al. 2024): edits with questions of portability and locality.

The files of the benchmark are lists of records with `subject`, `prompt` (complete, it names the
subject), `target_new`, `ground_truth` (the old object), `rephrase` or `rephrase_prompt`, and
`portability` and `locality`: for each criterion (`Reasoning`, `Subject_Aliasing`,
`Logical_Generalization`; `Relation_Specificity`, `Forgetfulness`) a list of `prompt` and
`ground_truth`, or one object with a list of each. A ground truth is a text or lists of texts, of
which the first is the canonical answer.

The graph has one fact (subject, relation, old object) a record; the relation is the slug of the
prompt. The questions are checks of the request: `portability/Reasoning`,
`locality/Relation_Specificity`. Where `ground_truth` is missing or a token such as `<|endoftext|>`,
the answer of the first question of `Forgetfulness` is the old object, which those questions are
about; a record without one is refused. WikiBio's texts are no edits of a fact and are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .assembly import GraphAssembly
from .edit_records import Edit, Relations, add_edits, number_of, prompt_of, read_records, slotted
from .reading.json_stream import head
from .reading.sources import Place, default_name
from .records import SUBJECT_SLOT, Check, LoadedGraph, RewriteRequest, fill, unique
from .texts import examples, folded, name_flaw, quoted

SUMMARY = "KnowEdit: edits with questions of portability and locality"
FORGETFULNESS = "Forgetfulness"
GROUPS = ("portability", "locality")
REPHRASED = ("rephrase", "rephrase_prompt", "rephrase_prompts")


@dataclass
class Reading:
    """The state of reading one file.

    Attributes:
        replaced: records whose old object is from `Forgetfulness`.
    """

    assembly: GraphAssembly
    relations: Relations = field(default_factory=Relations)
    replaced: list[str] = field(default_factory=list)

    def finish(self, source: Path, edits: list[Edit], format_key: str) -> LoadedGraph:
        """The graph with the edits, and the report."""
        add_edits(edits, self.assembly)
        self.assembly.read["checks"] = sum(len(edit.request.checks) for edit in edits)
        if self.replaced:
            self.assembly.note(
                "repaired",
                f"{len(self.replaced)} records",
                "state no old object (`ground_truth`); it is the answer of their first question of"
                f" {FORGETFULNESS}: {examples(self.replaced)}",
            )
        return self.assembly.finish(str(source), format_key)


def recognises(path: Path) -> bool:
    """Return True if the file is KnowEdit's; reads only its beginning."""
    text = head(path)
    return (
        all(f'"{key}"' in text for key in ("subject", "prompt", "target_new"))
        and any(f'"{key}"' in text for key in (*GROUPS, "ground_truth"))
        and '"requested_rewrite"' not in text
    )


def load(path: Path | str, *, name: str | None = None, limit: int | None = None) -> LoadedGraph:
    """Read a KnowEdit file.

    Args:
        path: the file.
        name: the data set's name; by default the file's.
        limit: number of records to read, from the beginning.

    Raises:
        UnreadableFileError: the file is missing, cut off, or not JSON.
        SchemaError: no record is usable; single unusable records are refused in the report.
    """
    path = Path(path)
    reading = Reading(GraphAssembly(name or default_name(path)))

    def parse(place: Place, record: dict[str, Any]) -> Edit:
        return Edit(request_of(place, record, reading), number_of(place, record))

    edits = read_records(path, reading.assembly, limit, parse)
    return reading.finish(path, edits, "knowedit")


def request_of(place: Place, record: dict[str, Any], reading: Reading) -> RewriteRequest:
    """The request of a record, with its questions as checks."""
    assembly = reading.assembly
    subject = place.at("subject").object_name(place.field(record, "subject"))
    there = place.at("prompt")
    text = there.text(place.field(record, "prompt"))
    prompt = text if text.count(SUBJECT_SLOT) == 1 else prompt_of(there, text, subject)
    new = assembly.object_name(
        place.at("target_new"), _first(place.at("target_new"), place.field(record, "target_new"))
    )
    checks = tuple(_checks(place, record, assembly))
    true = _old_object(place, record, checks, reading)
    if folded(true) == folded(new):
        raise place.error(f"target_new and the old object are the same, {quoted(true)}")
    relation = there.name(reading.relations[prompt])
    filled = fill(prompt, subject)
    return RewriteRequest(
        id=RewriteRequest.make_id(subject, relation, new),
        dataset=assembly.name,
        prompt=prompt,
        subject=subject,
        relation=relation,
        target_true=true,
        target_new=new,
        question=filled if filled.endswith("?") else None,
        paraphrases=unique(slotted(each, subject) for each in _rephrased(place, record)),
        n_records=1,
        checks=checks,
    )


def _old_object(
    place: Place, record: dict[str, Any], checks: tuple[Check, ...], reading: Reading
) -> str:
    there = place.at("ground_truth")
    value = _first(there, record.get("ground_truth", ""))
    if value is not None and str(value).strip() and name_flaw(str(value)) is None:
        return reading.assembly.object_name(there, value)
    kept = f"locality/{FORGETFULNESS}"
    found = next((check.answers[0] for check in checks if check.criterion == kept), None)
    if found is None:
        raise there.error(
            f"{quoted(value)} is no old object, and no question of {FORGETFULNESS} names one:"
            " write the old object here"
        )
    reading.replaced.append(place.where)
    return there.object_name(found)


def _rephrased(place: Place, record: dict[str, Any]) -> Iterator[str]:
    for name in REPHRASED:
        found = record.get(name) or []
        for each in found if isinstance(found, list) else [found]:
            yield place.at(name).text(each)


def _checks(place: Place, record: dict[str, Any], assembly: GraphAssembly) -> Iterator[Check]:
    for group in GROUPS:
        at = place.at(group)
        for kind, asked in at.mapping(record.get(group) or {}).items():
            criterion = at.name(f"{group}/{kind}")
            for there, prompt, truth in _asked(at.at(kind), asked):
                answers = tuple(_answers(there.at("ground_truth"), truth, assembly))
                if answers:
                    text = there.at("prompt").text(prompt)
                    old = answers if group == "locality" else ()
                    yield Check(criterion, text, unique(answers), old_answers=unique(old))


def _asked(place: Place, asked: Any) -> Iterator[tuple[Place, Any, Any]]:
    """Place, prompt and ground truth of the questions of a criterion, in either layout."""
    if isinstance(asked, dict):
        prompts, truths = (place.field(asked, key) for key in ("prompt", "ground_truth"))
        if isinstance(prompts, str):
            prompts, truths = [prompts], [truths]
        if len(place.sequence(prompts)) != len(place.sequence(truths)):
            raise place.error(f"{len(prompts)} prompts, but {len(truths)} ground truths")
        for i, (prompt, truth) in enumerate(zip(prompts, truths, strict=True)):
            yield place.at(i), prompt, truth
        return
    for i, each in enumerate(place.sequence(asked)):
        there = place.at(i)
        fields = there.mapping(each)
        yield there, there.field(fields, "prompt"), there.field(fields, "ground_truth")


def _answers(place: Place, truth: Any, assembly: GraphAssembly) -> Iterator[str]:
    """Every text of a ground truth; none where it is empty, which the published files have."""
    if isinstance(truth, list):
        for each in truth:
            yield from _answers(place, each, assembly)
    elif truth not in ("", None):
        yield assembly.text(place, truth)


def _first(place: Place, value: Any) -> Any:
    """The value, or the first one of lists in lists."""
    while isinstance(value, list):
        if not value:
            raise place.error("is empty")
        value = value[0]
    return value
