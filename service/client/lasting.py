"""Client methods for lines of states: whether the change of an edit lasts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..lasting.schemas import LastingJob, LastingOut
from .http import (
    Http,
    Named,
    ProblemError,
    Progress,
    frame,
    id_of,
    part,
    report,
)

if TYPE_CHECKING:
    import pandas as pd

POLL_S = 0.5
COLUMNS = ("id", "graph", "edit", "method", "base", "states", "created_at")


class Lasting:
    """Methods of the client for lines of states."""

    _http: Http

    def lasting(
        self,
        edit: str | Named,
        then: Sequence[str],
        *,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> LastingOut:
        """Whether the change of an edit lasts while later changes are put on the model.

        Args:
            edit: id of a scored edit, or its score.
            then: later changes in order: `8bit`, `4bit`, `edit:EDIT`, `adapter:FOLDER`,
                `finetune:FILE` or `finetune:graph`, the last two with `:steps=200:lora=8`.
            timeout: maximum seconds to wait; it continues after that.
            options: samples, seed, max_steps ... of `POST /v1/lasting`.

        Raises:
            ProblemError: refused, or it failed; with reason and remedy.
            TimeoutError: not ended in time; it continues.
        """
        body = {"edit": id_of(edit), "then": list(then), **options}
        found = LastingJob.model_validate(self._http.post("/v1/lasting", body))
        deadline = None if timeout is None else time.monotonic() + timeout
        while found.result is None:
            report(progress, found.stage or found.status, found.progress)
            if found.status in ("failed", "cancelled"):
                raise ProblemError(
                    f"Line {found.id} {found.status}: {found.error or 'without a reason'}",
                    found.remedy or "Submit it again.",
                )
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"Line {found.id} is {found.status} after {timeout:g} s.")
            time.sleep(POLL_S)
            found = self.line(found.id)
        return found.result

    def line(self, line: str | Named) -> LastingJob:
        """A line of states: its status, and its result once it is done."""
        return LastingJob.model_validate(self._http.json(f"/v1/lasting/{part(line)}"))

    def lines(self, graph: str | None = None, limit: int = 100) -> pd.DataFrame:
        """Lines of states that are done, newest first."""
        found = self._http.json("/v1/lasting", graph=graph, limit=limit)["items"]
        return frame([item | {"states": len(item["states"])} for item in found], COLUMNS)
