"""Client methods for comparisons of two states: submit, wait, read what changed."""

from __future__ import annotations

import io
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..notebook_view import Picture, drawn_by
from ..states.schemas import ComparisonJob, ComparisonOut, DriftLine
from .http import Http, Named, ProblemError, Progress, frame, part, report

if TYPE_CHECKING:
    import pandas as pd

POLL_S = 0.5


class Comparisons:
    """Methods of the client for comparisons."""

    _http: Http
    plot: Callable[..., Picture]

    def compare(
        self,
        before: str,
        after: str,
        *,
        graph: str = "hogwarts",
        rewrites: Sequence[str] = (),
        forget: Sequence[str] = (),
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> ComparisonOut:
        """Compare two states of a model; the same request is found again.

        Args:
            before, after: states in words, such as `organism+edit:EDIT`.
            rewrites: ids or subjects of rewrite requests that are scored between the states.
            forget: facts that shall be forgotten, each `SUBJECT|RELATION|OBJECT`.
            timeout: maximum seconds to wait; it continues after that.
            options: samples, all_rewrites, max_steps ... of `POST /v1/comparisons`.

        Raises:
            ProblemError: refused, or it failed; with reason and remedy.
            TimeoutError: not ended in time.
        """
        body = {"before": before, "after": after, "graph": graph, **options}
        body |= {"rewrites": list(rewrites), "forget": list(forget)}
        posted = ComparisonJob.model_validate(self._http.post("/v1/comparisons", body))
        found = self.comparison(posted.id)
        deadline = None if timeout is None else time.monotonic() + timeout
        while found.result is None:
            report(progress, found.stage or found.status, found.progress)
            if found.status in ("failed", "cancelled"):
                raise ProblemError(
                    f"Comparison {found.id} {found.status}: {found.error or 'without a reason'}",
                    found.remedy or "Submit it again.",
                )
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"Comparison {found.id} is {found.status} after {timeout:g} s.")
            time.sleep(POLL_S)
            found = self.comparison(found.id)
        return found.result

    def comparison(self, comparison: str | Named) -> ComparisonJob:
        """A comparison: its status, and its result once it is done."""
        path = f"/v1/comparisons/{part(comparison)}"
        found = ComparisonJob.model_validate(self._http.json(path))
        if found.result is not None:
            drawn_by(found.result, self.plot)
        return found

    def comparisons(self, graph: str | None = None, limit: int = 100) -> pd.DataFrame:
        """Comparisons that are done, newest first, with their drift over all facts."""
        found = self._http.json("/v1/comparisons", graph=graph, limit=limit)["items"]
        return frame([_row(ComparisonOut.model_validate(item)) for item in found], COLUMNS)

    def drift(self, comparison: str | Named, measure: str | None = None) -> pd.DataFrame:
        """The drift of a comparison: all facts, by distance, by relation; one row a line."""
        out = self.comparison(comparison).result
        if out is None:
            return frame([], LINE)
        chosen = out.measure if measure is None else measure
        found = {str(name): drift for name, drift in out.drift.items()}[chosen]
        lines = [found.total, *found.by_distance, *found.by_relation]
        return frame([line.model_dump() for line in lines], LINE)

    def audit(self, comparison: str | Named, folder: str | Path) -> Path:
        """Write the audit of a comparison into a new folder, which opens without a server.

        Returns the folder; `sha256sum -c SHA256SUMS` in it shows alterations.

        Raises:
            ProblemError: refused, or the folder has files; nothing was written.
        """
        target = Path(folder)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise ProblemError(f"{target} is not empty.", "Name a new folder.")
        packed = self._http.get(f"/v1/comparisons/{part(comparison)}/audit").content
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            zipfile.ZipFile(io.BytesIO(packed)) as archive,
            tempfile.TemporaryDirectory(dir=target.parent) as place,
        ):
            archive.extractall(place)
            (written,) = Path(place).iterdir()
            written.replace(target)
        return target


LINE = tuple(DriftLine.model_fields)
COLUMNS = ("id", "graph", "before", "after", "requests", *LINE[1:], "created_at")


def _row(out: ComparisonOut) -> dict[str, Any]:
    total = out.drift[out.measure].total.model_dump(exclude={"label"})
    about = {"id": out.id, "graph": out.graph, "created_at": out.created_at}
    return about | total | {
        "before": out.before.name, "after": out.after.name, "requests": len(out.requests),
    }  # fmt: skip
