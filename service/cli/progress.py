"""Progress of long work, shown as one bar a stage on standard error.

Everything below the service reports through a plain callable `(done, total, stage)`; only this file
knows its appearance. Without a terminal nothing is drawn, so logs stay clean.
"""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

OVERALL = ("edits", "states")
"""The stages that count the others; their bars stay in sight."""


class ProgressBars:
    """A context manager that is itself the callback: `with ProgressBars() as show: work(show)`."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            transient=True,
            disable=quiet or not Console(stderr=True).is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> ProgressBars:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def __call__(self, done: int, total: int, stage: str) -> None:
        """Show that `done` of `total` steps of `stage` are finished."""
        # Stages may carry a detail after a colon ("training: loss 0.3"): one bar, changing text.
        key = stage.split(":", 1)[0]
        if key not in self._tasks:
            for other, task in self._tasks.items():
                self._bars.update(task, visible=other in OVERALL)
            self._tasks[key] = self._bars.add_task(stage, total=total or None)
        self._bars.update(
            self._tasks[key], completed=done, total=total or None, description=stage, visible=True
        )
