"""Probing of a large graph on the executors of an engine: each part of its facts is one task.

This process stores the answers, so that a part is stored once, and asked again only if it was lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.errors import UsageError
from ..graphs.datasets import Dataset
from ..models.edit import EditOptions
from ..scoring.probe import Answer, Question, probe
from . import pool

if TYPE_CHECKING:
    from ...editing.probe import ProbeSettings
    from ..scoring.model_graph import AskParts, Parts
    from ..scoring.runtime import Runtime, RuntimeModel


@dataclass(frozen=True, slots=True)
class Part:
    """The questions of one part.

    Attributes:
        options: name the model.
        digest: of the model's identity, as the process has it that stores the answers.
    """

    options: EditOptions
    dataset: Dataset
    digest: str
    questions: Sequence[Question]
    settings: ProbeSettings

    @property
    def affinity(self) -> str:
        """The model."""
        return self.options.model

    def run(self, runtime: Runtime, progress: pool.Counted) -> Sequence[Answer]:
        """Return the answers in the order of the questions.

        Raises:
            UsageError: the model is another one here.
        """
        loaded = runtime.model_of(self.options, self.dataset).loaded
        if loaded.info.digest != self.digest:
            raise UsageError(
                f"An executor has another model {self.options.model!r} than the command:"
                f" {loaded.info.digest[:8]} and not {self.digest[:8]}.",
                remedy="Give all nodes the same folder or revision.",
            )
        return probe(loaded, self.questions, self.settings, progress=runtime.progress)


def asking(
    runtime: Runtime,
    options: EditOptions,
    dataset: Dataset,
    model: RuntimeModel,
    executors: int | None,
) -> AskParts | None:
    """Return a function that asks parts on the engine of the settings; None: in this process.

    Args:
        executors: None takes all that a Ray cluster has room for, and this process else.
    """
    if not pool.wanted(runtime.settings, executors):
        return None

    def ask(parts: Parts, settings: ProbeSettings) -> Iterator[tuple[int, Sequence[Answer]]]:
        digest = model.loaded.info.digest
        tasks = [Part(options, dataset, digest, part, settings) for part in parts]
        with pool.opened(runtime.settings, executors) as engine:
            running = pool.Pool(engine, tasks, runtime.log)
            for place, result in running.run(executors or engine.room):
                yield place, pool.required(result)

    return ask
