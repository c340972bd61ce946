"""Client methods for growth runs: start, follow, review."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..growth.files.output import write
from ..growth.review.schemas import CandidateDetail, Recorded, RecordedFile
from ..growth.schemas import GrowthOut
from .http import Http, Progress, failure, follow, frame, part

if TYPE_CHECKING:
    import pandas as pd

STOPPED = ("waiting_review", "paused", "succeeded", "failed", "cancelled")


class Growth:
    """Methods of the client for growth runs."""

    _http: Http

    def grow(
        self,
        seed: str | None = None,
        *,
        wait: bool = True,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> GrowthOut:
        """Grow a graph from a model; the same request continues the same run.

        Args:
            seed: `subject|relation|object`.
            wait: wait until it stops; False returns the queued run.
            timeout: maximum seconds to wait; the run continues after it.
            options: elicit, answers, base, judge ... of `POST /v1/growth`.

        Raises:
            ProblemError: refused, or the run failed; with reason and remedy.
            TimeoutError: not stopped in time; call `wait_growth` to continue waiting.
        """
        body = {**options} if seed is None else {"seed": seed, **options}
        run = GrowthOut.model_validate(self._http.post("/v1/growth", body))
        return self.wait_growth(run.id, progress, timeout) if wait else run

    def wait_growth(
        self, run: str, progress: Progress | None = None, timeout: float | None = None
    ) -> GrowthOut:
        """Wait until a run is finished, waits for people, or is paused.

        Raises:
            ProblemError: it failed or was cancelled; its answers remain.
            TimeoutError: not stopped in time; the run continues.
        """
        found = follow(
            lambda: self.growth(run),
            STOPPED,
            lambda late: f"Run {late.id} is {late.status} after {timeout:g} s.",
            progress,
            timeout,
        )
        if found.status in ("failed", "cancelled"):
            raise failure(found, f"Run {found.id}", "Start it again.")
        return found

    def growth(self, run: str) -> GrowthOut:
        """The status of a run."""
        return GrowthOut.model_validate(self._http.json(f"/v1/growth/{part(run)}"))

    def growth_runs(self, limit: int = 100) -> pd.DataFrame:
        """The runs, newest first."""
        about = GrowthOut.model_fields
        columns = [name for name in about if name != "links" and not about[name].exclude]
        return frame(self._http.json("/v1/growth", limit=limit)["items"], columns)

    def growth_iterations(self, run: str) -> pd.DataFrame:
        """Sizes and cost of a run after each iteration."""
        return frame(self._http.json(f"/v1/growth/{part(run)}/iterations")["items"])

    def candidates(
        self, run: str, state: str | None = None, *, limit: int | None = None
    ) -> pd.DataFrame:
        """Candidates in order of appearance; `state` such as `review`, None: all."""
        path = f"/v1/growth/{part(run)}/candidates"
        return frame(self._http.pages(path, limit, 1000, state=state))

    def candidate(self, run: str, candidate: str) -> CandidateDetail:
        """A candidate with the answers that it rests on."""
        found = self._http.json(f"/v1/growth/{part(run)}/candidates/{part(candidate)}")
        return CandidateDetail.model_validate(found)

    def decide(
        self,
        run: str,
        candidate: str,
        verb: str,
        by: str,
        *,
        after: Mapping[str, str] | None = None,
        reason: str | None = None,
    ) -> Recorded:
        """Decide `keep`, `prune` or `correct` (with `after`) about a candidate."""
        body = {"verb": verb, "by": by, "after": after, "reason": reason}
        path = f"/v1/growth/{part(run)}/candidates/{part(candidate)}/decision"
        return Recorded.model_validate(self._http.post(path, body))

    def add_triplet(
        self, run: str, triplet: Mapping[str, str], by: str, *, reason: str | None = None
    ) -> Recorded:
        """Add a triplet: a mapping with subject, relation and object."""
        body = {"triplet": dict(triplet), "by": by, "reason": reason}
        return Recorded.model_validate(self._http.post(f"/v1/growth/{part(run)}/candidates", body))

    def decide_by_file(self, run: str, file: str | Path, by: str | None = None) -> RecordedFile:
        """Record the decisions of a CSV file; `by` decides where a row names no person."""
        sent = {"file": (Path(file).name, Path(file).read_bytes(), "text/csv")}
        place = f"/v1/growth/{part(run)}/decisions"
        data = {} if by is None else {"by": by}
        return RecordedFile.model_validate(self._http.post(place, files=sent, data=data))

    def growth_decisions(self, run: str) -> pd.DataFrame:
        """Return the decisions about a run's candidates, oldest first."""
        return frame(self._http.json(f"/v1/growth/{part(run)}/decisions")["items"])

    def growth_judge(self, run: str) -> pd.DataFrame:
        """Return the judge against people, a row an iteration; the last one is over all."""
        return frame(self._http.json(f"/v1/growth/{part(run)}/judge")["items"])

    def export_growth(
        self,
        run: str,
        target: str | Path,
        format: Literal["knowgic", "qwen-sample", "audit"] = "knowgic",
        *,
        single_link: bool = True,
        max_steps: int = 5,
    ) -> list[str]:
        """Write the files of `thinkeval grow export`; return lost parts, with counts.

        Args:
            target: a folder, or a `.zip` that holds all files.
            format: one of KnowGIC's two layouts, or the audit bundle.
            single_link: at most one fact from one entity to another; the chains are the same.
            max_steps: of the longest chain that is written.

        Raises:
            UsageError: the target cannot be written, or is a folder with other files.
        """
        found = self._http.json(
            f"/v1/growth/{part(run)}/export",
            format=format,
            single_link=single_link,
            max_steps=max_steps,
            packed=False,
        )
        write({name: text.encode() for name, text in found["files"].items()}, Path(target))
        return found["lost"]

    def pause_growth(self, run: str) -> GrowthOut:
        """Pause a queued or running run."""
        return GrowthOut.model_validate(self._http.post(f"/v1/growth/{part(run)}/pause"))

    def resume_growth(self, run: str) -> GrowthOut:
        """Queue a stopped run again."""
        return GrowthOut.model_validate(self._http.post(f"/v1/growth/{part(run)}/resume"))

    def cancel_growth(self, run: str) -> GrowthOut:
        """Cancel a queued or running run; its answers remain."""
        return GrowthOut.model_validate(self._http.post(f"/v1/growth/{part(run)}/cancel"))

    def delete_growth(self, run: str) -> None:
        """Delete a run with its answers and decisions; its graph stays."""
        self._http.delete(f"/v1/growth/{part(run)}")
