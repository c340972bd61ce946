"""A client for notebooks: scores as objects, tables as DataFrames, edits as graphs for networkx.

    from thinkeval.service.client import Client

    with Client() as te:
        score = te.score(graph="hogwarts", rewrite="harry-potter--studied-at", method="rome")
        te.chains(score.edit, surviving=True)

It connects to a running `thinkeval serve` and loads no model; pandas and networkx are imported for
the first table or graph. docs/how-to/notebook.md is its guide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast, overload

from ..edits.schemas import EditOut, SweepOut
from ..schemas import RewriteIn, Score
from .depedit import Protocols
from .growth import Growth
from .http import Http, ProblemError, Progress, frame, part
from .results import CHAIN_COLUMNS, LEAK_COLUMNS, Results

if TYPE_CHECKING:
    import httpx
    import pandas as pd

__all__ = ["CHAIN_COLUMNS", "LEAK_COLUMNS", "Client", "ProblemError"]

Rewrite = str | RewriteIn | Mapping[str, str]
"""A rewrite as it is named, or written out."""


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
            TimeoutError: not scored in time; `wait_for("edits", id)` continues to wait.
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
        edit = self.run("edits", body, wait=wait, progress=progress, timeout=timeout)
        return cast(Score, edit.result) if wait else cast(EditOut, edit)

    # Many edits ------------------------------------------------------------------------------

    def sweep(
        self,
        methods: Sequence[str],
        *,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> SweepOut:
        """Score methods on the rewrites of a graph; the same sweep resumes.

        `table("sweeps", sweep, "methods")` is its table over common rewrites.

        Args:
            options: graph, rewrites, models, seeds, samples ... of `POST /v1/sweeps`.

        Raises:
            ProblemError, TimeoutError: as `run`; an edit without a score alone does not raise.
        """
        body = {"methods": list(methods), **options}
        done = self.run("sweeps", body, progress=progress, timeout=timeout)
        return cast(SweepOut, done.result)
