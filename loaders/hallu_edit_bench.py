"""HalluEditBench (Huang et al. 2025): a model's false answers, each with the true object.

A CSV for one model and topic, a row for each fact that the model gets wrong: `subject`, `relation`,
`object` (the true one), `question`, `output_MODEL` (the model's false answer), `eval_MODEL`, and
questions to ask after an edit.

The facts of the graph are the true ones. The prompt is the question with {} for the subject, and
the answer follows it, as for zsRE; `paraphrased_question` is its paraphrase. A rewrite request
replaces the model's false answer by the true object. The false answer is no fact of the graph, so
no chain leads to it and the IFR of such a request is undefined. A row whose `eval_MODEL` is 1 has
no request: the model knows the fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .assembly import GraphAssembly
from .edit_records import Edit, Placed, fact_of, slotted
from .errors import SchemaError
from .reading.sources import Place, default_name
from .reading.tables import RECORDS, columns_of, read_table
from .records import LITERAL_SLOT, Check, LoadedGraph, RewriteRequest, slot_parts
from .texts import examples, folded, quoted

SUMMARY = "HalluEditBench: a CSV of a model's false answers, with the true objects"

NEEDED = ("subject", "relation", "object", "question", "paraphrased_question")
HOPS = range(2, 7)
"""Numbers of facts that the answers of the multi-hop questions follow from."""
_ANSWER = "output_"
_VERDICT = "eval_"


def recognises(path: Path) -> bool:
    """Return True if the file is HalluEditBench's; reads only its beginning."""
    return path.suffix.lower() not in RECORDS and _fits(columns_of(path, _fits))


def _fits(columns: Sequence[str]) -> bool:
    return set(NEEDED) <= set(columns) and any(name.startswith(_ANSWER) for name in columns)


def load(path: Path | str, *, name: str | None = None, limit: int | None = None) -> LoadedGraph:
    """Read a HalluEditBench file.

    Args:
        path: the file.
        name: the data set's name; by default the file's.
        limit: number of rows to read, from the beginning.

    Raises:
        UnreadableFileError: the file is missing or no table.
        SchemaError: a column is missing, or no row is usable.
    """
    path = Path(path)
    assembly = GraphAssembly(name or default_name(path))
    table = read_table(path, _fits)
    if missing := [column for column in NEEDED if column not in table.columns]:
        raise Place(path, "line 1").error(f"the column {quoted(missing[0])} is missing")
    answers = [column for column in table.columns if column.startswith(_ANSWER)]
    if not answers:
        raise Place(path, "line 1").error(f"there is no column {_ANSWER}MODEL with its answers")
    assembly.layouts.append(f"{path.name}: {table.layout}; the model's answers are {answers[0]!r}")
    placed = Placed()
    refused: list[SchemaError] = []
    known: list[str] = []
    for i, row in enumerate(table.rows[:limit]):
        place = Place(path, row.where)
        assembly.read["rows"] = i + 1
        try:
            request = _request(place, row.cells, answers[0], assembly.name)
        except SchemaError as error:
            refused.append(error)
            assembly.refuse(error)
            continue
        assembly.facts.append(fact_of(request, request.target_new))
        if row.cells.get(_VERDICT + answers[0].removeprefix(_ANSWER)) in {"1", "1.0"}:
            known.append(row.where)
        elif folded(request.target_true) == folded(request.target_new):
            assembly.note("refused", place.where, "the model's answer is the true object")
        elif (merged := placed.add(Edit(request, f"row-{i + 1}"))) is not None:
            assembly.note("merged", merged, f"{row.where} repeats it")
    if refused and not assembly.facts:
        raise refused[0]
    assembly.rewrites.extend(placed.requests.values())
    if known:
        assembly.note("flagged", f"{len(known)} rows", f"are no requests: {examples(known)}")
    return assembly.finish(str(path), "hallu_edit_bench")


def _request(place: Place, cells: Mapping[str, str], answer: str, dataset: str) -> RewriteRequest:
    """The request of a row, the true object in place of the model's answer."""
    subject, new, true = (
        place.at(key).object_name(cells[key]) for key in ("subject", "object", answer)
    )
    relation = place.at("relation").name(cells["relation"])
    question, other = (
        place.at(key).text(cells[key]) for key in ("question", "paraphrased_question")
    )
    prompt = slotted(question, subject)
    if len(slot_parts(prompt)) == 1 or LITERAL_SLOT in prompt:
        raise place.at("question").error(
            f"does not name the subject {quoted(subject)}: {quoted(question)}",
            code="subject-not-in-prompt",
        )
    return RewriteRequest(
        id=RewriteRequest.make_id(subject, relation, new),
        dataset=dataset,
        prompt=prompt,
        subject=subject,
        relation=relation,
        target_true=true,
        target_new=new,
        question=question,
        paraphrases=(slotted(other, subject),),
        n_records=1,
        checks=tuple(_checks(place, cells, (subject, new, true))),
    )


def _checks(place: Place, cells: Mapping[str, str], names: tuple[str, str, str]) -> Iterator[Check]:
    """The questions of a row, each with its answer; those without a cell are left out.

    Args:
        names: subject, true object and the model's false answer.
    """
    subject, new, old = names
    right = cells.get("multiple_choice_labels", "")
    choices = cells.get("multiple_choice_with_letters", "")
    asked = {
        "paraphrased_question": ("generalization/rephrased", (new,), (old,)),
        "yes_question": ("generalization/yes", ("Yes",), ("No",)),
        "no_question": ("generalization/no", ("No",), ("Yes",)),
        "reversed_relation_question": ("generalization/reversed", (subject,), ()),
    }
    asked |= {
        f"question_{n}hop": (f"portability/{n}hop", (cells.get(f"answer_{n}hop", ""),), ())
        for n in HOPS
    }
    for column, (criterion, answers, before) in asked.items():
        if (question := cells.get(column)) and answers[0]:
            there = place.at(column)
            yield Check(criterion, there.text(question), answers, old_answers=before)
    if choices and right:
        text = place.at("multiple_choice_with_letters").text(f"{cells['question']} {choices}")
        yield Check("generalization/multiple_choice", text, (right, new))
