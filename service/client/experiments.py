"""Client methods for experiments: submit, wait, read results, tables and figures; of every kind."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..depedit.schemas import ProtocolOut
from ..edits.schemas import EditOut, SweepOut
from ..experiments.models import Experiment, Result
from ..growth.schemas import GrowthOut
from ..leakcut.schemas import CoEditOut
from ..notebook_view import Picture, Plotted, drawn_by
from ..schemas import ENDED, Status
from ..states.schemas import ComparisonOut, DriftLine
from .http import Http, Named, ProblemError, Progress, failure, follow, frame, part

if TYPE_CHECKING:
    import pandas as pd


SHOWN: dict[str, type[Experiment[Any]]] = {
    "edits": EditOut, "sweeps": Experiment[SweepOut], "coedits": Experiment[CoEditOut],
    "comparisons": Experiment[ComparisonOut], "growth": Experiment[GrowthOut],
    "protocols": Experiment[ProtocolOut],
}  # fmt: skip
"""The model of an experiment by the path of its kind; of another kind the fields that all have."""


class Experiments:
    """Methods of the client for experiments."""

    _http: Http
    plot: Callable[..., Picture]

    def experiment(self, kind: str, id: str | Named) -> Experiment[Any]:
        """An experiment: its status, and its result once it has succeeded.

        Args:
            kind: the path of its kind, such as `comparisons`.
        """
        return self._shown(kind, self._http.json(f"/v1/{kind}/{part(id)}"))

    def _shown(self, kind: str, found: dict[str, Any]) -> Experiment[Any]:
        shown = SHOWN.get(kind, Experiment[Result]).model_validate(found)
        if isinstance(shown.result, Plotted):
            drawn_by(shown.result, self.plot)
        return shown

    def experiments(
        self,
        kind: str,
        *,
        graph: str | None = None,
        edit: str | None = None,
        limit: int | None = None,
        **filters: Any,
    ) -> pd.DataFrame:
        """The experiments of a kind, newest first.

        Args:
            limit: number at most; None: all.
            filters: further ones of `GET /v1/{kind}`, such as `method` of edits.
        """
        wanted = {"graph": graph, "edit": edit, **filters}
        found = self._http.pages(f"/v1/{kind}", limit, 500, by="skip", **wanted)
        own = SHOWN.get(kind, Experiment[Result]).model_fields
        hidden = ("kind", "request", "result", "links", "parts", "posted_as")
        return frame(found, [name for name in own if name not in hidden])

    def table(
        self, kind: str, id: str | Named, name: str, *, measure: str | None = None
    ) -> pd.DataFrame:
        """A table of an experiment, such as `drift` of a comparison or `frontier` of a co-edit."""
        path = f"/v1/{kind}/{part(id)}/tables/{name}"
        return frame(self._http.json(path, format="json", measure=measure))

    def run(
        self,
        kind: str,
        body: dict[str, Any],
        *,
        wait: bool = True,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> Experiment[Any]:
        """Submit an experiment; the same request is the same experiment.

        Args:
            kind: the path of its kind, such as `comparisons`.
            body: of `POST /v1/{kind}`.
            wait: wait until it has succeeded; False returns the queued one.
            timeout: maximum seconds to wait; it continues after that.

        Raises:
            ProblemError: refused, or it failed; with reason and remedy.
            TimeoutError: not ended in time; `wait_for` continues to wait.
        """
        posted = self._http.post(f"/v1/{kind}", body)
        if wait:
            return self.wait_for(kind, posted["id"], progress=progress, timeout=timeout)
        return self._shown(kind, posted)

    def wait_for(
        self,
        kind: str,
        id: str | Named,
        *,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> Experiment[Any]:
        """Wait until an experiment has succeeded.

        Raises:
            ProblemError: it failed or was cancelled; parts that are stored stay.
            TimeoutError: not ended in time; it continues.
        """
        found = follow(
            lambda: self.experiment(kind, id),
            ENDED,
            lambda late: f"{late.id} is {late.status} after {timeout:g} s.",
            progress,
            timeout,
        )
        if found.status != "succeeded":
            raise failure(found, found.id, "Submit it again.")
        return found

    def cancel_experiment(self, kind: str, id: str | Named) -> Status:
        """Cancel a queued or running experiment; its new status. Parts that are stored stay."""
        status: Status = self._http.post(f"/v1/{kind}/{part(id)}/cancel")["status"]
        return status

    def delete_experiment(self, kind: str, id: str | Named) -> None:
        """Delete an experiment that is not under way, with its job and all that it alone has."""
        self._http.delete(f"/v1/{kind}/{part(id)}")

    def co_edit(
        self,
        rewrite: str,
        *,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> CoEditOut:
        """Edit a rewrite with further facts; the same request is the same co-edit.

        Args:
            rewrite: id or subject of a stored rewrite.
            options: graph, method, rounds, objective, cut ... of `POST /v1/coedits`.

        Raises:
            ProblemError, TimeoutError: as `run`.
        """
        body = {"rewrite": rewrite, **options}
        done = self.run("coedits", body, progress=progress, timeout=timeout)
        return cast(CoEditOut, done.result)

    def compare(
        self,
        base: str,
        *states: str,
        graph: str = "hogwarts",
        rewrites: Sequence[str] = (),
        forget: Sequence[str] = (),
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> ComparisonOut:
        """Compare states of a model with a base; the same request is found again.

        Args:
            base: a state in words, such as `organism`.
            states: states in words, such as `organism+edit:EDIT`; `+CHANGE` is the state before
                with this put on: `+8bit`, `+finetune:graph:steps=200`.
            rewrites: ids or subjects of rewrite requests that are scored between the states.
            forget: facts that shall be forgotten, each `SUBJECT|RELATION|OBJECT`.
            options: samples, all_rewrites, max_steps ... of `POST /v1/comparisons`.

        Raises:
            ProblemError, TimeoutError: as `run`.
        """
        body = {"base": base, "states": list(states), "graph": graph, **options}
        body |= {"rewrites": list(rewrites), "forget": list(forget)}
        done = self.run("comparisons", body, progress=progress, timeout=timeout)
        return cast(ComparisonOut, done.result)

    def drift(self, comparison: str | Named, measure: str | None = None) -> pd.DataFrame:
        """The drift of each state of a comparison: all facts, by distance, by relation."""
        out = cast(ComparisonOut, self.experiment("comparisons", comparison).result)
        chosen = measure or out.measure
        rows = out.to_frame()
        shown = rows[rows["measure"] == chosen].drop(columns=["measure", "by"])
        columns = dict.fromkeys(("state", "label", *DriftLine.model_fields))
        return shown[list(columns)].reset_index(drop=True)

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
