"""Options that several commands share, and how a command prints its result.

Options that the commands of `thinkeval depedit` share.

Probe options, shared by `probe`, `score` and `demo`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thinkeval.service.errors import UsageError
from thinkeval.service.formatting import several as several
from thinkeval.service.schemas import Measure

if TYPE_CHECKING:
    from thinkeval.editing.probe import ProbeSettings


class MeasureName(StrEnum):
    """How probabilities are measured; the values are the stored property prefixes."""

    p = "p"
    likelihood = "likelihood"
    likelihood_norm = "likelihood_norm"

    @property
    def key(self) -> Measure:
        """The value as the schemas spell it."""
        return self.value  # type: ignore[return-value]


JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
MeasureOption = Annotated[
    MeasureName,
    typer.Option(
        "--measure",
        help="p: share of sampled answers (the papers' protocol); likelihood: exact,"
        " teacher-forced; likelihood_norm: per token.",
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        help="Hub name or local path of a decoder-only model; or `organism`, `organism:llama`,"
        " `organism:gpt2:seed=1`: a small model trained on the graph's own facts.",
    ),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to this file instead.")
]

RulesOption = Annotated[
    list[str] | None, typer.Option("--rule", help="Only this rule, by its id; repeatable.")
]
CandidatesFlag = Annotated[
    bool, typer.Option("--candidates", help="Also rules that nobody has judged yet.")
]


def console() -> Console:
    """Standard output, at least 140 columns wide where it is not a terminal."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=max(plain.width, 140))


def emit_json(value: Any, output: Path | None = None) -> None:
    """Print a value as JSON on standard output, or write it to the file."""
    emit_text(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n", output)


def emit_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, note: str = ""
) -> None:
    """Print a table; numbers are set right, texts left."""
    table = Table(title=escape(title), title_justify="left")
    body = [list(row) for row in rows]
    if not body:
        console().print(f"{title}: {note or 'none'}")
        return
    for i, column in enumerate(columns):
        numeric = any(isinstance(row[i], int | float) for row in body)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in body:
        table.add_row(*(escape(cell(value)) for value in row))
    out = console()
    out.print(table)
    if note:
        out.print(note, style="dim", highlight=False, markup=False)


def cell(value: object) -> str:
    """A value as a table shows it: three decimals, a dash for what is not defined."""
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def with_interval(value: object, low: float | None, high: float | None) -> str:
    """A value with its 95 % interval, where there is one: neither bound is missing or NaN."""
    if low is None or high is None or low != low or high != high:
        return cell(value)
    return f"{cell(value)} {interval(low, high)}"


def interval(low: float, high: float) -> str:
    """Two bounds as a table shows them."""
    return f"[{low:.2f}, {high:.2f}]"


def require_json(output: Path | None, json: bool) -> None:
    """Refuse an output file for a table."""
    if output is not None and not json:
        raise UsageError("-o writes --json, which is not given.", remedy="Add it.")


def emit_text(text: str, output: Path | None) -> None:
    """Write a text to the file, or to standard output where there is none."""
    if output is None:
        typer.echo(text.rstrip("\n"))
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{output} cannot be written: {error.strerror or error}.",
                remedy="Give -o a file in a folder that is there and yours to write.",
            ) from error
        typer.echo(f"Wrote {output}", err=True)


DatasetOption = Annotated[
    str | None, typer.Option("--graph", "-g", help="Only sets built from this graph.")
]


class SettingName(StrEnum):
    """How questions are worded."""

    cq_dt = "CQ_DT"
    cq_ut = "CQ_UT"
    icq_dt = "ICQ_DT"


SettingOption = Annotated[
    SettingName | None, typer.Option(help="Only sets in this setting.", case_sensitive=False)
]


class ProbeOptions:
    """Annotated types of the options."""

    samples = Annotated[
        int,
        typer.Option(
            min=0, help="Generations a prompt (the papers use 5); 0 measures likelihood only."
        ),
    ]
    ask = Annotated[str, typer.Option(help="cloze (the fact's prompt) or question (its question).")]
    paraphrases = Annotated[
        bool, typer.Option("--paraphrases", help="Average each fact over its paraphrases.")
    ]
    chat = Annotated[
        str, typer.Option(help="Use the tokenizer's chat template: auto, always or never.")
    ]
    dtype = Annotated[str, typer.Option(help="float32 (as the papers edit), bfloat16 or float16.")]
    revision = Annotated[
        str | None, typer.Option(help="Branch, tag or commit of a hub model; the commit is kept.")
    ]
    seed = Annotated[int, typer.Option(help="Seed of sampling, templates and, if any, organism.")]


def probe_settings(
    samples: int, ask: str, paraphrases: bool, chat: str, seed: int
) -> ProbeSettings:
    """The settings of a probe; without samples only the exact measures are taken."""
    from thinkeval.editing.probe import ProbeSettings

    exact = ("likelihood", "likelihood_norm")
    return ProbeSettings(
        samples=max(samples, 1),
        ask=ask,  # type: ignore[arg-type]  (checked by ProbeSettings, with a remedy)
        paraphrases=paraphrases,
        chat=chat,  # type: ignore[arg-type]
        seed=seed,
        measures=("p", *exact) if samples else exact,
    )


def require_taken(measure: str, probe: ProbeSettings, samples: int) -> None:
    """Refuse a measure that the probe will not take.

    Found out later, a gate on it would hold for lack of a value.
    """
    if measure not in probe.measures:
        raise UsageError(
            f"--measure {measure} is not taken with --samples {samples}.",
            remedy="Give --samples 1 or more, or --measure likelihood.",
        )
