"""Probing of a large graph on the executors of an engine: each part of its facts is one job.

This process stores the answers, so that a part is stored once, and asked again only if it was lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...cypher import rows
from ..base.errors import KNOWN_ERRORS, CommandStoppedError
from ..base.leases import MAX_CRASHES, Lease
from ..experiments.job import JobProgress
from ..graphs.datasets import Dataset
from ..models.edit import EditOptions
from ..scoring.probe import Answer, Question, probe
from . import pool
from .pool import Stopped, stopped

if TYPE_CHECKING:
    from ...editing.probe import ProbeSettings
    from ..scoring.model_graph import AskParts, Parts
    from ..scoring.runtime import Runtime, RuntimeModel


@dataclass(frozen=True, slots=True)
class PartRow(rows.ClaimJobRow):
    """A job: the questions of one part.

    Attributes:
        options: name the model.
        digest: of the model's identity, as the process has it that stores the answers.
    """

    options: EditOptions
    dataset: Dataset
    digest: str
    questions: Sequence[Question]
    settings: ProbeSettings


class PartJob:
    """Asks the questions of one part."""

    KIND: ClassVar[str] = "part"

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        assert isinstance(row, PartRow)
        self._row = row
        self.progress = JobProgress(lease)

    def run(self, runtime: Runtime) -> Sequence[Answer] | Stopped:
        """Return the answers in the order of the questions."""
        row = self._row
        try:
            loaded = runtime.model_of(row.options, row.dataset).loaded
            if loaded.info.digest != row.digest:
                return Stopped(
                    f"An executor has another model {row.options.model!r} than this process:"
                    f" {loaded.info.digest[:8]} and not {row.digest[:8]}. Give all nodes the same"
                    " folder or revision."
                )
            return probe(loaded, row.questions, row.settings, progress=runtime.progress)
        except KNOWN_ERRORS as error:
            return stopped(error)

    @staticmethod
    def drop(db: object, job: str) -> None:
        """Nothing is stored of it: its answers go to the process that has asked."""


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
    settings = runtime.settings
    if settings.engine != "ray" and executors in (None, 1):
        return None

    def ask(parts: Parts, probing: ProbeSettings) -> Iterator[tuple[int, Sequence[Answer]]]:
        jobs = [
            PartRow(
                *("", f"{place}", PartJob.KIND, "", options.model, 1, 1, ()),
                *(options, dataset, model.loaded.info.digest, questions, probing),
            )
            for place, questions in enumerate(parts)
        ]
        with pool.opened(settings, (PartJob,), executors) as engine:
            for place, result in pool.Pool(engine, jobs, runtime.log).run(executors or engine.room):
                if isinstance(result, pool.Died):
                    raise CommandStoppedError(
                        f"The executors of one part ended {MAX_CRASHES} times ({result.detail})."
                    )
                if result is None:
                    raise CommandStoppedError(
                        "An executor met an unexpected error, which the log above has."
                    )
                yield place, result

    return ask
