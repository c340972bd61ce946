"""What is asked for: one edit to score, by itself or as a step of a sequence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from thinkeval.loaders.records import RewriteRequest
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
