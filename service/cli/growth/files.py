"""`thinkeval grow replay`, `export`: files of grown graphs, published ones and our own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...formatting import cell
from ...reports.formats import indexed
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import JsonFlag, OutputOption
from ..output import emit_json, emit_table, emit_values, require_json
from ..progress import ProgressBars

if TYPE_CHECKING:
    from ...growth.files.replay import ReplayOut

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
    from ...growth.files.replay import replay as compare_files

    require_json(output, json)
    found = compare_files(files)
    if json:
        emit_json(found.model_dump(), output)
    else:
        _show(found, all_)


class ExportFormat(StrEnum):
    """Layouts of an export."""

    knowgic = "knowgic"
    qwen_sample = "qwen-sample"
    csv = "csv"
    audit = "audit"


def export(
    name: Annotated[
        str, typer.Argument(metavar="RUN|GRAPH", help="A growth run, or a stored graph.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A folder, or a .zip that holds all files.")
    ],
    format: Annotated[
        ExportFormat,
        typer.Option(
            help="knowgic: chains.json and aliases; qwen-sample: kg.yaml and tables; csv: tables to"
            " edit in a spreadsheet; audit: all that a run rests on."
        ),
    ] = ExportFormat.knowgic,
    single_link: Annotated[
        bool,
        typer.Option(
            "--single-link/--all-links",
            help="At most one fact from one entity to another, as in KnowGIC's construction; the"
            " chains are the same.",
        ),
    ] = True,
    max_steps: Annotated[
        int, typer.Option(min=1, max=5, help="Longest chain that is written.")
    ] = 5,
    json: JsonFlag = False,
) -> None:
    """Write a graph in one of KnowGIC's published layouts or as CSV, or a run's audit bundle.

    All layouts can be imported again ([bold]thinkeval import DIR[/bold]) and give the same chains;
    what a layout cannot hold is printed with counts. [bold]qwen-sample[/bold] keeps relation names,
    questions and paraphrases. [bold]knowgic[/bold] has prompts in place of relation names, needs
    rewrites with chains, and has no paraphrases; in return it keeps which rewrite may use which
    fact. [bold]csv[/bold] is for a spreadsheet: all facts, rewrites, and entities with kinds and
    aliases, a table each.

    [bold]audit[/bold] has every answer, statement, candidate and decision of a run with its
    settings and prompts, and the SHA-256 of each file; writing it twice gives equal bytes. It holds
    no keys.

    [bold]thinkeval grow export hogwarts --format qwen-sample -o hogwarts-files[/bold]
    """
    from ...growth.files.formats import exported
    from ...growth.files.output import write

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        made = exported(
            runtime.db, name, format.value, single_link=single_link, max_steps=max_steps
        )
    files, lost = made.files, made.lost
    write(files, output)
    if json:
        sizes = {each: len(files[each]) for each in sorted(files)}
        emit_json({"output": str(output), "files": sizes, "lost": lost})
        return
    written = [(each, len(files[each])) for each in sorted(files)]
    emit_table(f"Wrote {output}", indexed("file", "bytes"), written)
    for each in lost:
        typer.echo(f"not in these files: {each}", err=True)


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
