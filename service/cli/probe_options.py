"""Probe options, shared by `probe`, `score` and `demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from thinkeval.service.errors import UsageError

if TYPE_CHECKING:
    from thinkeval.editing.probe import ProbeSettings


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
