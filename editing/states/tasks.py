"""Tasks of lm-eval, EleutherAI's harness, asked of a model as it is, with all edits applied to it.

The harness gets our model itself and a copy of the tokenizer, as it chooses a token for padding.
It is imported at its first use, and so are the tasks that ship with it, which takes ten seconds.
"""

from __future__ import annotations

import copy
import difflib
import json
import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...loaders.records import digest
from ..deltas import preserved
from ..errors import EditingError, TaskError
from ..models import LoadedModel
from .extras import package

BATCH = 8
SEED = 1234
"""Of few-shot examples and samples, as lm-eval has it."""
DIGITS = 1e-9
"""Relative difference up to which a metric is the mean of its values of documents."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks with their data, ready to be asked.

    Attributes:
        by_name: lm-eval's own objects.
        limit: documents of a task at most.
        digests: of the settings and texts of each task, by name.
    """

    by_name: Mapping[str, Any]
    limit: int
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One metric of one task, over the documents in their order.

    Attributes:
        metric: its name, with that of a filter of answers where the task has one.
        value: as lm-eval aggregates it.
        values: one a document; none where the metric is not their mean.
        n: number of documents.
        higher_is_better: as the task says; None where it does not.
    """

    task: str
    metric: str
    value: float
    values: tuple[float, ...]
    n: int
    higher_is_better: bool | None


def require_package() -> str:
    """Import lm-eval without its progress bars and notices; return its version.

    Raises:
        MissingExtraError: it is not installed.
    """
    found = package("lm_eval", "tasks", "--tasks")
    return str(found.__version__)


def load(wanted: Sequence[str | Path], limit: int) -> Tasks:
    """Load tasks and their data.

    Args:
        wanted: names of tasks, groups and tags of lm-eval; paths of YAML files, and of folders.
        limit: documents of a task at most, the first ones.

    Raises:
        MissingExtraError: lm-eval is not installed.
        TaskError: names the task that there is not, or whose data cannot be had.
    """
    require_package()
    from lm_eval.tasks import TaskManager

    _without_output()
    with _seeded():
        shipped = TaskManager(include_defaults=any(isinstance(each, str) for each in wanted))
        by_name: dict[str, Any] = {}
        for each in wanted:
            by_name |= _of_path(each) if isinstance(each, Path) else _of_name(shipped, each)
        digests = {name: _digest(name, task, limit) for name, task in by_name.items()}
    return Tasks(by_name, limit, digests)


def _of_path(path: Path) -> dict[str, Any]:
    """The task of a file, or all tasks of the files in a folder."""
    from lm_eval.tasks import TaskManager

    if not path.exists():
        raise TaskError(f"there is no task file or folder {path}")
    folder = str(path) if path.is_dir() else None
    manager = TaskManager(include_path=folder, include_defaults=False)
    names = manager.all_subtasks if folder else [str(path)]
    if not names:
        raise TaskError(f"the folder {path} has no task file")
    return {name: task for each in names for name, task in _loaded(manager, each).items()}


def _of_name(manager: Any, name: str) -> dict[str, Any]:
    """The tasks of a name that lm-eval has."""
    if name not in manager.task_index:
        close = difflib.get_close_matches(name, manager.all_tasks, n=3)
        meant = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise TaskError(f"lm-eval has no task {name!r}{meant}")
    return _loaded(manager, name)


def _loaded(manager: Any, wanted: str) -> dict[str, Any]:
    """The tasks of a name or file, as lm-eval asks them where nothing else is set."""
    try:
        tasks: dict[str, Any] = manager.load([wanted])["tasks"]
    except Exception as error:
        # lm-eval raises its own errors and those of hub, network, data set and task file.
        raise TaskError(f"the task {wanted!r} cannot be loaded: {_reason(error)}") from error
    for label, task in tasks.items():
        if getattr(task, "UNSAFE_CODE", False) or getattr(task, "MULTIMODAL", False):
            raise TaskError(f"the task {label!r} runs code that a model wrote, or needs pictures")
        if task.get_config("num_fewshot") is None:
            task.set_config(key="num_fewshot", value=0)
        task.set_fewshot_seed(seed=SEED)
    return tasks


def _reason(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _digest(name: str, task: Any, limit: int) -> str:
    """Digest of all that a task's values depend on beside the model: settings, texts, answers.

    The places of files are left out, as their content counts.
    """
    try:
        task.build_all_requests(limit=limit)
        documents = list(islice(task.eval_docs, limit))
    except Exception as error:  # of the task's own templates and functions
        raise TaskError(f"the task {name!r} cannot be asked: {_reason(error)}") from error
    config = task.dump_config()
    about = {key: config[key] for key in config.keys() - {"metadata", "dataset_kwargs"}}
    asked = [(each.request_type, each.args) for each in task.instances]
    return digest(json.dumps([about, asked, documents], sort_keys=True, default=str))


def ask(loaded: LoadedModel, tasks: Tasks) -> list[TaskResult]:
    """The results of a model on tasks, in their order; the model is left as it was.

    Raises:
        TaskError: lm-eval cannot ask them.
    """
    from lm_eval.evaluator import evaluate
    from lm_eval.models.huggingface import HFLM

    given: dict[str, Any] = {"tasks": dict(tasks.by_name), "groups": {}, "group_map": {}}
    with preserved(loaded.model), _seeded():
        tokenizer = copy.deepcopy(loaded.tokenizer)
        harness = HFLM(pretrained=loaded.model, tokenizer=tokenizer, batch_size=BATCH)
        try:
            found = evaluate(harness, given, limit=tasks.limit, bootstrap_iters=0)
        except EditingError:
            raise
        except Exception as error:  # of lm-eval, the task's functions, and torch
            names = ", ".join(tasks.by_name)
            raise TaskError(f"lm-eval stopped at {names}: {_reason(error)}") from error
    return [result for name in tasks.by_name for result in _results(name, found)]


def _results(name: str, found: Any) -> Iterator[TaskResult]:
    """The metrics of one task, for each filter of answers that it has."""
    samples = found["samples"][name]
    better = found["higher_is_better"].get(name, {})
    for chosen in dict.fromkeys(each["filter"] for each in samples):
        rows = [each for each in samples if each["filter"] == chosen]
        for metric in rows[0]["metrics"]:
            value = found["results"][name].get(f"{metric},{chosen}")
            if not isinstance(value, Real):
                continue
            values = [each[metric] for each in rows]
            numeric = all(isinstance(each, Real | np.bool_) for each in values)
            is_mean = numeric and bool(np.isclose(np.mean(values), float(value), DIGITS, DIGITS))
            yield TaskResult(
                task=name,
                metric=metric if chosen == "none" else f"{metric}, {chosen}",
                value=float(value),
                values=tuple(map(float, values)) if is_mean else (),
                n=len(rows),
                higher_is_better=better.get(metric),
            )


def _without_output() -> None:
    """Let lm-eval write no progress bars and notices; it has no options for all of them."""
    import datasets
    from lm_eval.api import model, task
    from lm_eval.models import huggingface
    from tqdm import tqdm

    def without_bar(*given: Any, **options: Any) -> Any:
        return tqdm(*given, **options | {"disable": True})

    datasets.disable_progress_bars()
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    for module in (model, task, huggingface):
        vars(module)["tqdm"] = without_bar


@contextmanager
def _seeded() -> Iterator[None]:
    """Seed the global random generators as lm-eval does; they are as before on exit."""
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        random.seed(0)
        np.random.seed(SEED)
        torch.manual_seed(SEED)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
