"""Results of EasyEdit (Wang et al. 2024): requests with the results before and after their edit.

EasyEdit stores a list of records with `case_id`, `requested_rewrite` (a record of `knowedit.py`'s
form), `pre` and `post`. Both have `rewrite_acc`, `rephrase_acc`, `portability` and `locality` (for
each criterion `Reasoning_acc` with a number for each question) and `fluency` (`ngram_entropy`).

The requests are read as KnowEdit's. The results are kept as `pre` and `post` of the checks they are
about, so that they can be shown beside those of an edit made here. Besides the questions of the
record there are the checks `rewrite` (its prompt), `rephrase` and `fluency` (no answer, only
numbers). EasyEdit's accuracy is the fraction of the answer's tokens that the model predicts, so it
is no probability and not the result of a metric here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from .assembly import GraphAssembly
from .edit_records import Edit, number_of, read_records
from .knowedit import Reading, request_of
from .reading.json_stream import head
from .reading.sources import Place, default_name
from .records import Check, LoadedGraph, RewriteRequest, fill
from .texts import examples

SUMMARY = "EasyEdit's results: requests with their stored results before and after the edit"
SIDES = ("pre", "post")


def recognises(path: Path) -> bool:
    """Return True if the file is EasyEdit's; reads only its beginning."""
    text = head(path)
    return all(f'"{key}"' in text for key in ("requested_rewrite", "post"))


def load(path: Path | str, *, name: str | None = None, limit: int | None = None) -> LoadedGraph:
    """Read a result file of EasyEdit.

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
    without: list[str] = []

    def parse(place: Place, record: dict[str, Any]) -> Edit:
        there = place.at("requested_rewrite")
        rewrite = there.mapping(place.field(record, "requested_rewrite"))
        request = request_of(there, rewrite, reading)
        results = {side: _results(place, record, side) for side in SIDES}
        checks = tuple(_with_results(request, results))
        stated = sum(check.pre is not None or check.post is not None for check in checks)
        if sum(map(len, _longest(results).values())) > stated:
            without.append(place.where)
        return Edit(replace(request, checks=checks), number_of(place, record))

    edits = read_records(path, reading.assembly, limit, parse)
    if without:
        reading.assembly.note(
            "flagged",
            f"{len(without)} records",
            "have results that belong to none of their questions; those are left out:"
            f" {examples(without)}",
        )
    return reading.finish(path, edits, "easyedit_results")


def _results(place: Place, record: dict[str, Any], side: str) -> dict[str, list[float]]:
    """The numbers of each criterion, by the name of its checks, in the order of the questions."""
    there = place.at(side)
    found: dict[str, list[float]] = {}

    def add(criterion: str, at: Place, value: Any) -> None:
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            raise at.error("expected numbers")
        found[criterion] = [float(v) for v in values]

    for key, value in there.mapping(record.get(side, {})).items():
        if key in ("portability", "locality"):
            for kind, values in there.at(key).mapping(value).items():
                if kind.endswith("_acc"):
                    add(f"{key}/{kind.removesuffix('_acc')}", there.at(key, kind), values)
        elif key == "fluency":
            entropy = there.at(key).mapping(value).get("ngram_entropy", [])
            add("fluency", there.at(key, "ngram_entropy"), entropy)
        elif key in ("rewrite_acc", "rephrase_acc"):
            add(key.removesuffix("_acc"), there.at(key), value)
    return found


def _longest(results: dict[str, dict[str, list[float]]]) -> dict[str, list[float]]:
    """The results of each criterion on the side that has more of them."""
    found: dict[str, list[float]] = {}
    for side in results.values():
        for criterion, values in side.items():
            found[criterion] = max(found.get(criterion, []), values, key=len)
    return found


def _with_results(
    request: RewriteRequest, results: dict[str, dict[str, list[float]]]
) -> Iterator[Check]:
    asked = fill(request.prompt, request.subject)
    new, old = (request.target_new,), (request.target_true,)
    own = [Check("rewrite", asked, new, old_answers=old)]
    own += [
        Check("rephrase", fill(text, request.subject), new, old_answers=old)
        for text in request.paraphrases
    ]
    number: dict[str, int] = defaultdict(int)
    for check in (*own, *request.checks, Check("fluency", asked, ())):
        i = number[check.criterion]
        number[check.criterion] += 1
        pre, post = (
            values[i] if i < len(values := results[side].get(check.criterion, [])) else None
            for side in SIDES
        )
        if check.answers or pre is not None or post is not None:
            yield replace(check, pre=pre, post=post)
