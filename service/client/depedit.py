"""Client methods for DepEdit: knowledge sets, runs of the protocol and their jobs, tables."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..depedit.schemas import JobOut, JobPage
from ..schemas import ENDED, Status
from .http import Http, ProblemError, Progress, frame, part, report

if TYPE_CHECKING:
    import pandas as pd

POLL_S = 0.5
"""Interval between polls of a job."""


class Protocols:
    """Methods of the client for DepEdit's protocol."""

    _http: Http

    def knowledge_sets(
        self, graph: str | None = None, *, setting: str | None = None, limit: int | None = None
    ) -> pd.DataFrame:
        """The stored knowledge sets, by id."""
        found = self._http.pages("/v1/depedit/sets", limit, 1000, graph=graph, setting=setting)
        return frame(found)

    def build_sets(self, graph: str, **options: Any) -> pd.DataFrame:
        """Draw knowledge sets from a graph and its rules; the same options give the same sets.

        Args:
            options: setting, rules, facts, copies, updates, init ... of
                `POST /v1/depedit/sets`.

        Returns:
            One row a set; `attrs["skipped"]`: the rules that yielded none, with the reasons.
        """
        built = self._http.post("/v1/depedit/sets", {"graph": graph, **options})
        table = frame(built["items"])
        table.attrs["skipped"] = built["skipped"]
        return table

    def run_sets(
        self,
        sets: Iterable[str] | None = None,
        *,
        graph: str | None = None,
        strategies: Sequence[str] | None = None,
        wait: bool = True,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> JobOut:
        """Run strategies on knowledge sets; stored runs are not repeated.

        Args:
            sets: ids; None: all of `graph`.
            strategies: such as `base`, `memit+forwchain`; None: all without training.
            wait: wait until all runs are finished; False returns the queued job.
            progress: called with stage and fraction, such as `print`.
            timeout: maximum seconds to wait; the job continues after it.
            options: model, editor, overrides, seed, force ... of `POST /v1/depedit/runs`.

        Raises:
            ProblemError: refused, or the job failed; with reason and remedy.
            TimeoutError: not finished in time; call `wait_runs` to continue waiting.
        """
        named = None if sets is None else list(sets)
        body = {"sets": named, "graph": graph, **options}
        if strategies is not None:
            body["strategies"] = list(strategies)
        job = JobOut.model_validate(self._http.post("/v1/depedit/runs", body))
        return self.wait_runs(job.id, progress, timeout) if wait else job

    def wait_runs(
        self, job: str, progress: Progress | None = None, timeout: float | None = None
    ) -> JobOut:
        """Wait until a job is finished.

        Raises:
            ProblemError: it failed or was cancelled; stored runs remain.
            TimeoutError: not finished in time; the job continues.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            found = self.job(job)
            report(progress, found.stage or found.status, found.progress)
            if found.status == "succeeded":
                return found
            if found.status in ENDED:
                raise ProblemError(
                    f"Job {found.id} {found.status}: {found.error or 'without a reason'}",
                    found.remedy or "Submit it again.",
                )
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(
                    f"{found.done} of {found.total} runs of {found.id} are finished after"
                    f" {timeout:g} s; it continues."
                )
            time.sleep(POLL_S)

    def job(self, job: str) -> JobOut:
        """The status of a job."""
        return JobOut.model_validate(self._http.json(f"/v1/depedit/jobs/{part(job)}"))

    def jobs(self, status: Status | None = None, limit: int = 50) -> list[JobOut]:
        """The jobs, newest first."""
        page = self._http.json("/v1/depedit/jobs", status=status, limit=limit)
        return JobPage.model_validate(page).items

    def cancel_job(self, job: str) -> Status:
        """Cancel a queued or running job; its new status. Stored runs remain."""
        return self._http.post(f"/v1/depedit/jobs/{part(job)}/cancel")["status"]

    def runs(
        self,
        graph: str | None = None,
        *,
        setting: str | None = None,
        model: str | None = None,
        knowledge_set: str | None = None,
        limit: int | None = None,
    ) -> pd.DataFrame:
        """The stored runs of the protocol, oldest first."""
        found = self._http.pages(
            "/v1/depedit/runs", limit, 1000,
            graph=graph, setting=setting, model=model, knowledge_set=knowledge_set,
        )  # fmt: skip
        return frame(found)

    def answers(self, run: str) -> pd.DataFrame:
        """The answers of a run, one row a question; `attrs["metrics"]`: its metrics with n."""
        found = self._http.json(f"/v1/depedit/runs/{part(run)}")
        table = frame(found["answers"])
        table.attrs["metrics"] = found["metrics"]
        return table

    def protocol_report(
        self, graph: str | None = None, *, setting: str | None = None, model: str | None = None
    ) -> pd.DataFrame:
        """The paper's tables: one row a method, fractions from 0 to 1, each with its n (sets)."""
        found = self._http.json("/v1/depedit/report", graph=graph, setting=setting, model=model)
        return frame(_flat(row) for row in found["items"])


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("setting", "init", "n_specific", "model", "method", "runs")
    flat = {key: row[key] for key in keys}
    for name, mean in row["means"].items():
        flat |= {name: mean["value"], f"n_{name}": mean["n"]}
    for name, gain in row["gains"].items():
        flat |= {f"gain_{name}": gain["value"], f"n_gain_{name}": gain["n"]}
    return flat
