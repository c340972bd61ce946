"""Client methods for co-edits: submit, wait, read the frontier."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..leakcut.schemas import CoEditJob, RoundOut
from .http import Http, ProblemError, Progress, frame, part, report

if TYPE_CHECKING:
    import pandas as pd

POLL_S = 0.5


class CoEdits:
    """Methods of the client for co-edits."""

    _http: Http

    def co_edit(
        self,
        rewrite: str,
        *,
        wait: bool = True,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> CoEditJob:
        """Edit a rewrite with further facts; the same request is the same co-edit.

        Args:
            rewrite: id or subject of a stored rewrite.
            wait: wait until it ends; False returns the queued one.
            timeout: maximum seconds to wait; it continues after that.
            options: graph, method, rounds, objective, cut ... of `POST /v1/coedits`.

        Raises:
            ProblemError: refused, or it failed; with reason and remedy.
            TimeoutError: not ended in time; call `wait_coedit` to continue waiting.
        """
        body = {"rewrite": rewrite, **options}
        found = CoEditJob.model_validate(self._http.post("/v1/coedits", body))
        return self.wait_coedit(found.id, progress, timeout) if wait else found

    def wait_coedit(
        self, coedit: str, progress: Progress | None = None, timeout: float | None = None
    ) -> CoEditJob:
        """Wait until a co-edit has succeeded.

        Raises:
            ProblemError: it failed or was cancelled; scored rounds remain.
            TimeoutError: not ended in time; it continues.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            found = self.coedit(coedit)
            report(progress, found.stage or found.status, found.progress)
            if found.status in ("failed", "cancelled"):
                raise ProblemError(
                    f"Co-edit {found.id} {found.status}: {found.error or 'without a reason'}",
                    found.remedy or "Submit it again.",
                )
            if found.status == "succeeded":
                return found
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"Co-edit {found.id} is {found.status} after {timeout:g} s.")
            time.sleep(POLL_S)

    def coedit(self, coedit: str) -> CoEditJob:
        """A co-edit: its status, and its frontier once it is done."""
        return CoEditJob.model_validate(self._http.json(f"/v1/coedits/{part(coedit)}"))

    def coedits(self, graph: str | None = None, limit: int = 100) -> pd.DataFrame:
        """Co-edits that are done, newest first."""
        found = self._http.json("/v1/coedits", graph=graph, limit=limit)["items"]
        columns = ("id", "graph", "rewrite", "model", "method", "chosen", "stopped", "created_at")
        return frame(found, columns)

    def frontier(self, coedit: str) -> pd.DataFrame:
        """The rounds of a co-edit, one a row."""
        found = self.coedit(coedit).result
        columns = [name for name in RoundOut.model_fields if name != "coedits"]
        return frame([row.model_dump() for row in found.rounds] if found else [], columns)
