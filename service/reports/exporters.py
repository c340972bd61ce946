"""Scores as flat rows in other tools: Hugging Face `datasets`, MLflow, Weights & Biases, Trackio.

Each row of `reports.table.scores_frame` is one edit. In trackers it is a run: texts and seeds are
its parameters, numbers that are defined its metrics. The packages are the extra `exporters`, and
are imported when they are used; nothing is sent to another machine unless the package is set up so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import UsageError, close_names, did_you_mean
from ..models.edit import Measure, Score
from .table import ABOUT, rows_of, scores_frame

if TYPE_CHECKING:
    import pandas as pd


def export(
    scores: Sequence[Score] | pd.DataFrame,
    to: str,
    folder: str | Path | None = None,
    *,
    project: str = "thinkeval",
    measure: Measure = "likelihood",
) -> Any:
    """Write scores to another tool, one row or run an edit.

    Args:
        scores: scores, or the data frame of `thinkeval report --each`.
        to: `datasets` (returns the `Dataset`), `mlflow`, `wandb` or `trackio` (return the ids of
            the runs).
        folder: where it is stored; default: nowhere (datasets), or as the tool is set up. W&B
            runs are offline: `wandb sync FOLDER/wandb/offline-run-*` uploads them.
        project: name of the experiment or project.
        measure: of the metrics, where scores are given.

    Raises:
        UsageError: there is no such tool, or its package is not installed.
    """
    if to not in EXPORTERS:
        close = did_you_mean(close_names(to, EXPORTERS, most=1))
        raise UsageError(
            f"There is no exporter {to!r}. {close}".rstrip(),
            remedy=f"Use one of {', '.join(EXPORTERS)}.",
        )
    import pandas as pd

    frame = scores if isinstance(scores, pd.DataFrame) else scores_frame(scores, measure)
    return EXPORTERS[to](frame, None if folder is None else Path(folder), project)


def _package(name: str) -> Any:
    """An optional package.

    Raises:
        UsageError: it is not installed; names the extra.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(
            f"The package {name!r} is not installed.",
            remedy=f"pip install 'thinkeval[exporters]', or: pip install {name}",
        ) from error


def _runs(frame: pd.DataFrame) -> Iterable[tuple[str, dict[str, Any], dict[str, float]]]:
    """Of each row its edit, what it is about, and its metrics that are defined."""
    for row in rows_of(frame):
        about = {name: row[name] for name in ABOUT if row.get(name) is not None}
        numbers = {
            name: float(value)
            for name, value in row.items()
            if name not in ABOUT and isinstance(value, int | float) and not math.isnan(value)
        }
        yield str(row["edit"]), about, numbers


def to_datasets(frame: pd.DataFrame, folder: Path | None, project: str) -> Any:
    """The rows as a `datasets.Dataset`, saved in a folder if one is named."""
    found = _package("datasets").Dataset.from_pandas(frame, preserve_index=False)
    found.info.description = project
    if folder is not None:
        found.save_to_disk(str(folder))
    return found


def to_mlflow(frame: pd.DataFrame, folder: Path | None, project: str) -> list[str]:
    """A run of MLflow for each row; with a folder, in an SQLite file there."""
    mlflow = _package("mlflow")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        mlflow.set_tracking_uri(f"sqlite:///{folder.resolve() / 'mlflow.db'}")
    mlflow.set_experiment(project)
    made = []
    for edit, about, numbers in _runs(frame):
        with mlflow.start_run(run_name=edit) as run:
            mlflow.log_params(about)
            mlflow.log_metrics(numbers)
        made.append(run.info.run_id)
    return made


def to_wandb(frame: pd.DataFrame, folder: Path | None, project: str) -> list[str]:
    """An offline run of Weights & Biases for each row."""
    wandb = _package("wandb")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    place = None if folder is None else str(folder)
    made = []
    for edit, about, numbers in _runs(frame):
        run = wandb.init(project=project, name=edit, config=about, dir=place, mode="offline")
        run.log(numbers)
        run.finish()
        made.append(run.id)
    return made


def to_trackio(frame: pd.DataFrame, folder: Path | None, project: str) -> list[str]:
    """A run of Trackio for each row; with a folder, in its database there.

    Raises:
        UsageError: a folder is named after trackio was imported, which reads its own at import.
    """
    import os
    import sys

    if folder is not None and "trackio" not in sys.modules:
        os.environ["TRACKIO_DIR"] = str(folder)
    trackio = _package("trackio")
    if folder is not None and Path(os.environ.get("TRACKIO_DIR", "")) != folder:
        raise UsageError(
            "Trackio is imported already, with another folder.",
            remedy="Set TRACKIO_DIR before the first import of trackio.",
        )
    made = []
    for edit, about, numbers in _runs(frame):
        trackio.init(project=project, name=edit, config=about)
        trackio.log(numbers)
        trackio.finish()
        made.append(edit)
    return made


EXPORTERS: dict[str, Callable[[Any, Path | None, str], Any]] = {
    "datasets": to_datasets,
    "mlflow": to_mlflow,
    "wandb": to_wandb,
    "trackio": to_trackio,
}
"""The tools by name."""
