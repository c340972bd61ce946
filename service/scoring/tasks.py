"""Tasks of lm-eval before and after an edit or between states: paired over their documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import UsageError
from ..base.statistics import wilson
from ..models.tasks import TaskOut
from .damage import OF_PROMPT

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ...editing.models import LoadedModel
    from ...editing.states.tasks import TaskResult, Tasks
    from ..models.edit import MeasuredOptions
    from .resolved import Resolved
    from .runtime import Runtime


NOT_A_MEAN = "the metric is no mean over documents, so that there is nothing to pair"
UNCHANGED = "no document changed, which bounds no difference of this metric"
ONE = "one document has no spread"


def named(options: MeasuredOptions) -> list[str]:
    """The tasks of a request, each once."""
    parts = (part.strip() for part in (options.tasks or "").split(","))
    return list(dict.fromkeys(part for part in parts if part))


def is_path(name: str) -> bool:
    """Return True if a name is that of a task file or folder, and not of a task of lm-eval."""
    return name.endswith((".yaml", ".yml")) or any(mark in name for mark in "/\\~")


def require_no_files(options: MeasuredOptions) -> None:
    """Refuse a task file over REST: it would be one of the service's machine, and may hold code.

    Raises:
        UsageError: it is a file or folder.
    """
    if paths := [name for name in named(options) if is_path(name)]:
        raise UsageError(
            f"{paths[0]!r} names a task file of the service's machine.",
            remedy="Name tasks that lm-eval has; a file can be used on the command line.",
        )


def load(runtime: Runtime, options: MeasuredOptions) -> Tasks | None:
    """The tasks of a request with their data; None where it has none.

    Raises:
        MissingExtraError: lm-eval is not installed.
        TaskError: names the task that there is not, or whose data cannot be had.
    """
    names = named(options)
    if not names:
        return None
    from ...editing.states import tasks

    wanted = [Path(name).expanduser() if is_path(name) else name for name in names]
    limit = options.tasks_limit
    return runtime.memoised(("tasks", *names, f"{limit}"), lambda: tasks.load(wanted, limit))


def identity(tasks: Tasks) -> dict[str, Any]:
    """All that the results depend on beside the model: lm-eval's version, settings and texts."""
    from ...editing.states.tasks import require_package

    return {"lm_eval": require_package(), "digests": dict(tasks.digests)}


def record(options: MeasuredOptions, tasks: Tasks) -> dict[str, Any]:
    """Return the entry of a record: the request, and `identity`."""
    return {"names": options.tasks, "limit": options.tasks_limit, **identity(tasks)}


def of_model(
    runtime: Runtime, loaded: LoadedModel, digest: str, tasks: Tasks
) -> Sequence[TaskResult]:
    """The results of a model as it is, computed once.

    Args:
        digest: of the model with all that is put on it.
    """
    from ...editing.states import tasks as harness

    runtime.progress(0, 1, "tasks of lm-eval")
    key = ("tasks of", digest, loaded.info.dtype, *tasks.digests.values())
    return runtime.memoised(key, lambda: harness.ask(loaded, tasks))


def both(resolved: Resolved, effect: EditEffect, tasks: Tasks | None) -> list[TaskOut]:
    """Ask tasks before and after an edit; the model is restored on every way out."""
    if tasks is None:
        return []
    from ...editing.deltas import applied
    from ...editing.states import tasks as harness

    runtime, loaded = resolved.runtime, resolved.model.loaded
    before = of_model(runtime, loaded, loaded.info.digest, tasks)
    if effect.prompt_change is not None:
        return [_row(each, None, reason=OF_PROMPT) for each in before]
    if effect.changes_nothing:
        return paired(before, before)
    with applied(loaded.model, effect):
        after = harness.ask(loaded, tasks)
    return paired(before, after)


def paired(before: Sequence[TaskResult], after: Sequence[TaskResult]) -> list[TaskOut]:
    """One entry a task and metric, paired over the documents.

    Args:
        after: of the same tasks; the same object where the model is the same.
    """
    from ..base.inference import holm

    rows = [_paired(*pair, same=before is after) for pair in zip(before, after, strict=True)]
    tested = [row for row in rows if row.p is not None]
    for row, p in zip(tested, holm([row.p or 0.0 for row in tested]), strict=True):
        row.p_adjusted = p
    return rows


def _row(before: TaskResult, after: TaskResult | None, **more: Any) -> TaskOut:
    return TaskOut(
        task=before.task,
        metric=before.metric,
        n=before.n,
        before=before.value,
        after=after.value if after else None,
        difference=after.value - before.value if after else None,
        higher_is_better=before.higher_is_better,
        **more,
    )


def _paired(before: TaskResult, after: TaskResult, *, same: bool) -> TaskOut:
    import numpy as np

    from ..base.inference import cluster_t, mcnemar, t_test

    if not (before.values and after.values):
        return _row(before, after, reason=NOT_A_MEAN)
    differences = np.array(after.values) - np.array(before.values)
    n, rose, fell = len(differences), int((differences > 0).sum()), int((differences < 0).sum())
    is_binary = {*before.values, *after.values} <= {0.0, 1.0}
    mean, error, (low, high) = cluster_t(differences, np.ones(n))
    p = mcnemar(rose, fell) if is_binary else t_test(mean, error, n)
    found: dict[str, Any] = {"low": low, "high": high}
    if not same and not rose and not fell:
        # A spread of 0 does not mean that the difference is 0: a few documents could flip.
        most = wilson(0.0, n)[1]
        found = {"low": -most, "high": most} if is_binary else {"reason": UNCHANGED}
    elif n < 2:
        found = {"reason": ONE}
    test = "McNemar" if is_binary else "paired t"
    return _row(before, after, rose=rose, fell=fell, p=p, test=test, **found)
