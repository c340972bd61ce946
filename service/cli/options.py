"""Options that several commands share.

Options that the commands of `thinkeval depedit` share.

Probe options, shared by `probe`, `score` and `demo`.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinkeval.service.errors import UsageError
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
