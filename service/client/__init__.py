"""A client for notebooks: scores as objects, tables as DataFrames, edits as graphs for networkx.

    from thinkeval.service.client import Client

    with Client() as te:
        score = te.score(graph="hogwarts", rewrite="harry-potter--studied-at", method="rome")
        te.chains(score.edit, surviving=True)

It connects to a running `thinkeval serve` and loads no model; pandas and networkx are imported for
the first table or graph. docs/how-to/notebook.md is its guide.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from ..jobs.schemas import SweepOut
from ..notebook_view import drawn_by
from ..schemas import ENDED, EditOut, RewriteIn, Score, Status
from .depedit import Protocols
from .growth import Growth
from .http import POLL_S, Http, Named, ProblemError, Progress, failure, follow, frame, part, report
from .results import CHAIN_COLUMNS, LEAK_COLUMNS, Results

if TYPE_CHECKING:
    import httpx
    import pandas as pd

__all__ = ["CHAIN_COLUMNS", "LEAK_COLUMNS", "Client", "ProblemError"]

Rewrite = str | RewriteIn | Mapping[str, str]
"""A rewrite as it is named, or written out."""
EDIT_COLUMNS = tuple(n for n in EditOut.model_fields if n not in ("score", "links", "posted_as"))


class Client(Results, Protocols, Growth):
    """Client of one service; use it as a context manager, or close it.

    Args:
        base_url: address of `thinkeval serve`.
        token: access token of the service; default: THINKEVAL_API_TOKEN, if set.
        timeout: seconds for one response.
        transport: HTTPX transport; default: the network.

    Raises:
        ProblemError: (every method) the service refused the request, with a remedy.
    """

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = Http(base_url, token, timeout, transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # Graphs ----------------------------------------------------------------------------------

    def graphs(self, kind: str | None = "dataset") -> pd.DataFrame:
        """The stored graphs; `kind` None also lists those of models and edits."""
        return frame(self._http.json("/v1/graphs", kind=kind)["items"])

    def rewrites(self, graph: str) -> pd.DataFrame:
        """The rewrite requests of a graph, with the number of their chains by steps."""
        items = self._http.json(f"/v1/graphs/{part(graph)}/rewrites")["items"]
        for item in items:
            item |= {f"chains_{n}": count for n, count in item.pop("chains", {}).items()}
        return frame(items)

    def import_graph(
        self,
        source: str | Path,
        *,
        name: str | None = None,
        format: str | None = None,
        target_new: str | None = None,
        limit: int | None = None,
        replace: bool = False,
    ) -> dict[str, Any]:
        """Import a local file, or else a graph or file of that name on the service's side.

        Returns:
            Numbers of records that were read, stored, merged, repaired and refused.
        """
        options = {"name": name, "format": format, "target_new": target_new, "limit": limit}
        given: dict[str, Any] = {k: v for k, v in options.items() if v is not None}
        path = Path(source)
        if isinstance(source, Path) or path.is_file():
            with path.open("rb") as file:
                files = {"file": (path.name, file)}
                data = given | {"replace": str(replace).lower()}
                return self._http.post("/v1/graphs", files=files, data=data)
        return self._http.post("/v1/graphs/import", given | {"source": source, "replace": replace})

    # Edits -----------------------------------------------------------------------------------

    @overload
    def score(
        self, named: str | Rewrite | None = None, /, *, rewrite: Rewrite | None = None,
        model: str | None = None, wait: Literal[True] = True,
        progress: Progress | None = None, timeout: float | None = None, **options: Any,
    ) -> Score: ...  # fmt: skip

    @overload
    def score(
        self, named: str | Rewrite | None = None, /, *, rewrite: Rewrite | None = None,
        model: str | None = None, wait: Literal[False],
        progress: Progress | None = None, timeout: float | None = None, **options: Any,
    ) -> EditOut: ...  # fmt: skip

    def score(
        self,
        named: str | Rewrite | None = None,
        /,
        *,
        rewrite: Rewrite | None = None,
        model: str | None = None,
        wait: bool = True,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Score | EditOut:
        """Score an edit; a stored score is returned at once.

        Args:
            named: the model, where `rewrite=` is given; else the rewrite.
            rewrite: id, prefix of an id, or subject of a stored rewrite; or one in full.
            model: name or folder of the model; default: the graph's organism.
            wait: wait for the score; False returns the queued edit.
            progress: called with stage and fraction, such as `print`.
            timeout: maximum seconds to wait; the edit continues after it.
            options: graph, method, samples, seed, overrides ... of `POST /v1/edits`.

        Raises:
            ProblemError: refused, or the edit failed; with reason and remedy.
            TimeoutError: not scored in time; call `wait` to continue waiting.
        """
        if rewrite is None:
            rewrite = named
        elif isinstance(named, str):
            model = named
        if model is not None:
            options["model"] = model
        written = rewrite.model_dump() if isinstance(rewrite, RewriteIn) else rewrite
        if written is None:
            raise ProblemError("No rewrite is named.", "Name one: score(rewrite=...).", 422)
        body = {"rewrite": written if isinstance(written, str) else dict(written), **options}
        edit = EditOut.model_validate(self._http.post("/v1/edits", body))
        return self._finished(self.wait(edit.id, progress, timeout)) if wait else edit

    def wait(
        self, edit: str | Named, progress: Progress | None = None, timeout: float | None = None
    ) -> EditOut:
        """Wait until an edit is finished, across broken connections.

        Raises:
            TimeoutError: not finished in time; the edit continues.
        """

        def late(found: EditOut) -> str:
            return (
                f"Edit {found.id} is {found.status} ({found.stage}) after {timeout:g} s and"
                " continues; call wait(…) to continue waiting."
            )

        return follow(lambda: self.edit(edit), ENDED, late, progress, timeout)

    def edits(
        self,
        graph: str | None = None,
        *,
        rewrite: str | None = None,
        model: str | None = None,
        method: str | None = None,
        status: Status | None = None,
        limit: int | None = None,
    ) -> pd.DataFrame:
        """The recorded edits, newest first."""
        items = self._http.pages(
            "/v1/edits", limit, 500,
            graph=graph, rewrite=rewrite, model=model, method=method, status=status,
        )  # fmt: skip
        return frame(items, EDIT_COLUMNS)

    def edit(self, edit: str | Named) -> EditOut:
        """The status of an edit, with its score when it is scored."""
        found = EditOut.model_validate(self._http.json(f"/v1/edits/{part(edit)}"))
        if found.score is not None:
            drawn_by(found.score, self.plot)
        return found

    def cancel(self, edit: str | Named) -> Status:
        """Cancel a queued or running edit; its new status."""
        return self._http.post(f"/v1/edits/{part(edit)}/cancel")["status"]

    def delete(self, edit: str | Named) -> None:
        """Delete an edit with its graph and score."""
        self._http.delete(f"/v1/edits/{part(edit)}")

    # Many edits ------------------------------------------------------------------------------

    def sweep(
        self,
        methods: Sequence[str],
        *,
        wait: bool = True,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> SweepOut:
        """Score methods on the rewrites of a graph; the same sweep resumes.

        Args:
            options: graph, rewrites, models, seeds, samples ... of `POST /v1/sweeps`.

        Returns:
            Counts by status, the edits, and `table`: the rows of a DataFrame.

        Raises:
            TimeoutError: not finished in time; the sweep continues.
        """
        body = {"methods": list(methods), **options}
        sweep = SweepOut.model_validate(self._http.post("/v1/sweeps", body))
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            finished = sum(sweep.counts.get(status, 0) for status in ENDED)
            total = sum(sweep.counts.values())
            report(progress, f"{finished} of {total} edits", finished / total if total else 1.0)
            if finished == total or not wait:
                # Other responses omit the table, which would read every score.
                return SweepOut.model_validate(self._http.json(f"/v1/sweeps/{part(sweep.id)}"))
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(
                    f"{finished} of {total} edits of {sweep.id} are finished; it continues."
                )
            time.sleep(POLL_S)
            found = self._http.json(f"/v1/sweeps/{part(sweep.id)}", table="false")
            sweep = SweepOut.model_validate(found)

    def _finished(self, edit: EditOut) -> Score:
        if edit.score is not None:
            return edit.score
        raise failure(edit, f"Edit {edit.id}", "Score it again.")
