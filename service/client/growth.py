"""Client methods for growth runs: grow, review, export."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ..growth.files.output import write
from ..growth.review.schemas import CandidateDetail, Recorded, RecordedFile
from ..growth.schemas import GrowthOut
from .experiments import Experiments
from .http import Progress, frame, part

if TYPE_CHECKING:
    import pandas as pd


class Growth(Experiments):
    """Methods of the client for growth runs, beside those of every kind of experiment."""

    def grow(
        self,
        seed: str | None = None,
        *,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> GrowthOut:
        """Grow a graph from a model until it is finished or waits for people.

        The same request continues the same run.

        Args:
            seed: `subject|relation|object`.
            options: elicit, answers, base, judge ... of `POST /v1/growth`.

        Raises:
            ProblemError, TimeoutError: as `run`.
        """
        body = {**options} if seed is None else {"seed": seed, **options}
        done = self.run("growth", body, progress=progress, timeout=timeout)
        return cast("GrowthOut", done.result)

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
