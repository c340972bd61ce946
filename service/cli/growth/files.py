"""`thinkeval grow replay`: published files of grown graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinkeval.service.cli.options import JsonFlag, OutputOption
from thinkeval.service.cli.output import emit_json, emit_table, emit_values, require_json
from thinkeval.service.formatting import cell
from thinkeval.service.reports.formats import indexed

if TYPE_CHECKING:
    from thinkeval.service.growth.files.replay import ReplayOut

SHOWN = 5
"""Added facts that are printed; --json has all."""


def replay(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="BASE_FILES...",
            help="The CSV of extracted triplets (Entity, Relationship, Attribute) and the YAML of"
            " the final graph; or the folder that contains both.",
        ),
    ],
    all_: Annotated[bool, typer.Option("--all", help="Print every added fact.")] = False,
    json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """Compare a model's extracted triplets with the final graph after review.

    Reads the intermediate files that KnowGIC publishes, and asks no model. Repeats are removed;
    spellings are merged where the two files show that they mean the same; what remains is compared
    with the final graph: pruned is what people removed, added is what they wrote themselves.
    Precision = kept / merged, recall = kept / final.

    [bold]thinkeval grow replay KnowGIC/qwen_sample[/bold]
    """
    from thinkeval.service.growth.files.replay import replay as compare_files

    require_json(output, json)
    found = compare_files(files)
    if json:
        emit_json(found.model_dump(), output)
    else:
        _show(found, all_)


def _show(found: ReplayOut, whole: bool) -> None:
    values: list[tuple[str, object]] = [
        ("extracted rows", found.rows),
        ("distinct", found.distinct),
        ("after merging", found.merged),
        ("final graph", found.final),
        ("kept", found.kept),
        ("pruned by people", len(found.pruned)),
        ("added by people", len(found.added)),
        ("precision of extraction", _of(found.precision, found.kept, found.merged)),
        ("recall of extraction", _of(found.recall, found.kept, found.final)),
    ]
    emit_values("Replay", values)
    changes = [("merged", f"{each.kind} {each.found} → {each.meant}") for each in found.merges]
    changes += [("pruned", ", ".join(names)) for names in found.pruned]
    shown = found.added if whole else found.added[:SHOWN]
    changes += [("added", ", ".join(names)) for names in shown]
    more = len(found.added) - len(shown)
    emit_table(
        "Changes",
        indexed("change", "what"),
        changes,
        note=f"and {more} added more: --all" if more else "",
    )


def _of(value: float | None, part: int, whole: int) -> str:
    return f"{cell(value)} ({part} of {whole})"
