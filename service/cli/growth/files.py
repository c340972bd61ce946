"""`thinkeval grow export`: files of grown graphs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ...reports.formats import Table, indexed
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import JsonFlag
from ..output import emit_json, emit_table
from ..progress import ProgressBars


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
    emit_table(Table("files", f"Wrote {output}", indexed("file", "bytes"), written))
    for each in lost:
        typer.echo(f"not in these files: {each}", err=True)
