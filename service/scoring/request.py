"""What is asked for: one edit to score, by itself or as a step of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import yaml

from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.errors import UsageError
from thinkeval.service.schemas import ScoringOptions

if TYPE_CHECKING:
    from thinkeval.editing.deltas import EditEffect
    from thinkeval.editing.probe import ProbeSettings


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """One edit to score.

    Attributes:
        graph: id of the stored data set graph.
        rewrite: the rewrite request, from the data set or the user's own.
        model: as `--model` takes it.
        method: name of an editing method.
        hparams: a file or a published name instead of the model's own; None finds it by model.
        overrides: single hyperparameters that replace those of the file.
        covariance: where key statistics come from (`service.scoring.covariance`); None: the graph's
            sentences.
        force: score again although the same edit is stored.
        strength: factor on the update; 1 is the edit as its method made it.
        generate: let both models write freely too, for fluency and consistency; costs time.
        implications: ask for the conclusions too that the data set's rules say the edit bears on.
    """

    graph: str
    rewrite: RewriteRequest
    model: str
    method: str
    probe: ProbeSettings
    hparams: str | None = None
    overrides: dict[str, object] = field(default_factory=dict)
    covariance: str | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)
    dtype: str = "float32"
    revision: str | None = None
    seed: int = 0
    organism_seed: int | None = None
    force: bool = False
    generate: bool = False
    implications: bool = False
    strength: float = 1.0


@dataclass(frozen=True, slots=True)
class SequenceStep:
    """An edit that is scored as a part of a sequence (`service.scoring.sequence`).

    Attributes:
        requests: all rewrites edited so far, in order.
        batch: how many were edited together.
        when: `after` this rewrite's batch, or at the `end` of the whole sequence.
        effect: the sequence's update so far, as a whole; called when the score is not stored.
    """

    requests: tuple[RewriteRequest, ...]
    batch: int
    when: Literal["after", "end"]
    effect: Callable[[], EditEffect]

    @property
    def identity(self) -> dict[str, object]:
        """What tells it from the same rewrite edited alone, or elsewhere in a sequence."""
        return {"requests": [asdict(r) for r in self.requests], "batch": self.batch}

    @property
    def about(self) -> dict[str, object]:
        """For the record."""
        ids = [r.id for r in self.requests]
        return {"when": self.when, "edited": len(ids), "batch": self.batch, "requests": ids}


def scoring_options(
    max_steps: int, bare: str, unit: str, threshold: float | None = None
) -> ScoringOptions:
    """The options as the schema checks them.

    Raises:
        UsageError: a value the schema does not know.
    """
    allowed = {"bare": ("listed", "include", "exclude"), "unit": ("rewrite", "record")}
    for name, value in (("bare", bare), ("unit", unit)):
        if value not in allowed[name]:
            raise UsageError(
                f"--{name} {value!r} is unknown.", remedy=f"Use {' or '.join(allowed[name])}."
            )
    if threshold is not None and not 0 <= threshold < 1:
        raise UsageError(
            f"--threshold {threshold} is out of range.", remedy="Give a part of R: 0 up to below 1."
        )
    return ScoringOptions.model_validate(
        {"max_steps": max_steps, "bare": bare, "unit": unit, "threshold": threshold}
    )


def score_request(
    graph: str,
    rewrite: RewriteRequest,
    model: str,
    method: str,
    probe: ProbeSettings,
    options: ScoringOptions,
    *,
    overrides: Sequence[str] = (),
    **rest: Any,
) -> ScoreRequest:
    """A score request; `overrides` are `key=value` texts, their values read as YAML.

    Raises:
        UnknownMethodError: before a model is trained or loaded for nothing.
    """
    from thinkeval.editing import registry

    registry.info(method)

    return ScoreRequest(
        graph=graph,
        rewrite=rewrite,
        model=model,
        method=method,
        probe=probe,
        options=options,
        overrides=read_overrides(overrides),
        **rest,
    )


def read_overrides(texts: Sequence[str]) -> dict[str, object]:
    """The hyperparameters of `key=value` texts, their values read as YAML.

    Raises:
        UsageError: a text is not of that form.
    """
    return dict(_override(text) for text in texts)


def method_override(text: str) -> tuple[str, str, object]:
    """(method, key, value) of `METHOD.key=value`.

    Raises:
        UsageError: not of that form.
        UnknownMethodError: no such method.
    """
    from thinkeval.editing import registry

    key, value = _override(text)
    name, dot, key = key.partition(".")
    if not dot or not key:
        raise UsageError(
            f"--set {text!r} names no method.", remedy="For example --set memit.v_lr=0.5."
        )
    return registry.info(name).name, key, value


def _override(text: str) -> tuple[str, object]:
    key, sep, value = text.partition("=")
    if not sep or not key:
        raise UsageError(f"--set {text!r} is not key=value.", remedy="For example --set v_lr=0.5.")
    try:
        return key.strip(), yaml.safe_load(value)
    # ValueError: a date or number out of range; RecursionError: deep nesting.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        shown = text if len(text) <= 100 else f"{text[:100]}…"
        raise UsageError(
            f"The value of --set {shown!r} cannot be read.",
            remedy="Write it as YAML: 0.5, true, [3, 4], 'a text'.",
        ) from error
