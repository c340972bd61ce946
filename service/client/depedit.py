"""The client's part for establish-and-update: knowledge sets, runs of the protocol, its tables."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thinkeval.service.client.http import Http, ProblemError, Progress, frame, part, tell
from thinkeval.service.depedit.schemas import JobOut, JobPage
from thinkeval.service.schemas import ENDED, Status

if TYPE_CHECKING:
    import pandas as pd

LOOK_S = 0.5
"""How often a job that is waited for is looked at."""


class Protocols:
    """What a client asks of DepEdit's protocol."""

    _http: Http

    def knowledge_sets(
        self, graph: str | None = None, *, setting: str | None = None, limit: int | None = None
    ) -> pd.DataFrame:
        """The stored knowledge sets, by id."""
        found = self._http.pages("/v1/depedit/sets", limit, 1000, graph=graph, setting=setting)
        return frame(found)

    def build_sets(self, graph: str, **options: Any) -> pd.DataFrame:
        """Draw knowledge sets from a graph and its rules; asked again, the same ones come out.

        Args:
            options: setting, rules, facts, copies, updates, init ... as `POST /v1/depedit/sets`
                takes.

        Returns:
            One row a set; `attrs["skipped"]` are the rules that gave none, and why.
        """
        told = self._http.post("/v1/depedit/sets", {"graph": graph, **options})
        made = frame(told["items"])
        made.attrs["skipped"] = told["skipped"]
        return made

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
        """Run strategies on knowledge sets; what is stored already is not run again.

        Args:
            sets: ids; None: all of `graph`.
            strategies: such as `base`, `memit+forwchain`; None: all that need no training.
            wait: until all is done; False gives the job that waits.
            progress: called with stage and fraction, such as `print`.
            timeout: seconds to wait at most; the job goes on all the same.
            options: model, editor, overrides, seed, force ... as `POST /v1/depedit/runs` takes.

        Raises:
            ProblemError: refused, or the job failed: says why and what to do.
            TimeoutError: it has not ended in time; `wait_runs` goes on waiting.
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
        """Wait until a job has ended.

        Raises:
            ProblemError: it failed or was cancelled; runs that are stored stay.
            TimeoutError: it has not ended in time, and goes on.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            found = self.job(job)
            tell(progress, found.stage or found.status, found.progress)
            if found.status == "succeeded":
                return found
            if found.status in ENDED:
                raise ProblemError(
                    f"Job {found.id} {found.status}: {found.error or 'no reason was given'}",
                    found.remedy or "Post it again.",
                )
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(
                    f"{found.done} of {found.total} runs of {found.id} are done after {timeout:g} s"
                    "; it goes on."
                )
            time.sleep(LOOK_S)

    def job(self, job: str) -> JobOut:
        """How a job stands."""
        return JobOut.model_validate(self._http.json(f"/v1/depedit/jobs/{part(job)}"))

    def jobs(self, status: Status | None = None, limit: int = 50) -> list[JobOut]:
        """The jobs, newest first."""
        told = self._http.json("/v1/depedit/jobs", status=status, limit=limit)
        return JobPage.model_validate(told).items

    def cancel_job(self, job: str) -> Status:
        """Stop a job that waits or runs; its status now. Runs that are stored stay."""
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
        """What a run's model said, a row a question; `attrs["metrics"]` are its shares with n."""
        told = self._http.json(f"/v1/depedit/runs/{part(run)}")
        said = frame(told["answers"])
        said.attrs["metrics"] = told["metrics"]
        return said

    def protocol_report(
        self, graph: str | None = None, *, setting: str | None = None, model: str | None = None
    ) -> pd.DataFrame:
        """The paper's tables: a row a method, each share from 0 to 1 beside its n (sets)."""
        told = self._http.json("/v1/depedit/report", graph=graph, setting=setting, model=model)
        return frame(_flat(row) for row in told["items"])


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("setting", "init", "n_specific", "model", "method", "runs")
    flat = {key: row[key] for key in keys}
    for name, mean in row["means"].items():
        flat |= {name: mean["value"], f"n_{name}": mean["n"]}
    for name, gain in row["gains"].items():
        flat |= {f"gain_{name}": gain["value"], f"n_gain_{name}": gain["n"]}
    return flat
