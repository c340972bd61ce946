"""A client for notebooks: scores as objects, tables as DataFrames, leakage graphs for networkx.

    from service.client import Client

    with Client() as te:
        score = te.score(graph="hogwarts", rewrite="harry-potter--studied-at", method="rome")
        te.chains(score.edit, surviving=True)

It talks to a running `thinkeval serve` and loads no model; pandas and networkx are imported when
the first table or graph is asked for. docs/notebook.md shows the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload
from urllib.parse import quote

from service.client_http import Http, ProblemError
from service.diff_schemas import Diff
from service.edit_schemas import ENDED, EditOut, Status, SweepOut
from service.schemas import Measure, RewriteIn, Score

if TYPE_CHECKING:
    import httpx
    import networkx as nx
    import pandas as pd

__all__ = ["Client", "ProblemError"]

Progress = Callable[[str, float], object]
"""Called with the stage and how much is done, from 0 to 1."""

POLL_S = 0.5
EDIT_COLUMNS = tuple(n for n in EditOut.model_fields if n not in ("score", "links", "posted_as"))
CHAIN_COLUMNS = ("chain", "steps", "r_pre", "r_post", "ratio", "surviving", "entities", "links")
LEAK_COLUMNS = (
    "subject", "relation", "object", "chains", "share", "ifr_share", "pre", "post", "prompt", "id",
)  # fmt: skip


class Client:
    """One service; use it as a context manager, or close it.

    Args:
        base_url: where `thinkeval serve` listens.
        token: what the service asks for; default: THINKEVAL_API_TOKEN, if it is set.
        timeout: seconds for one answer.
        transport: how requests travel, for tests.

    Raises:
        ProblemError: (every method) what the service refused, with what to do about it.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000",
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
        """Let go of the connections."""
        self._http.close()

    # Graphs ----------------------------------------------------------------------------------

    def graphs(self, kind: str | None = "dataset") -> pd.DataFrame:
        """The stored graphs; `kind` None also lists those of models and edits."""
        return _frame(self._http.json("/v1/graphs", kind=kind)["items"])

    def rewrites(self, graph: str) -> pd.DataFrame:
        """The rewrite requests of a graph, with the number of their chains by steps."""
        items = self._http.json(f"/v1/graphs/{_part(graph)}/rewrites")["items"]
        for item in items:
            item |= {f"chains_{n}": count for n, count in item.pop("chains", {}).items()}
        return _frame(items)

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
        """Import a file of this machine, else a graph or file that the service has of that name.

        Returns:
            What the import read, kept, merged, repaired and refused.
        """
        options = {"name": name, "format": format, "target_new": target_new, "limit": limit}
        held: dict[str, Any] = {k: v for k, v in options.items() if v is not None}
        path = Path(source)
        if isinstance(source, Path) or path.is_file():
            with path.open("rb") as file:
                files = {"file": (path.name, file)}
                data = held | {"replace": str(replace).lower()}
                return self._http.post("/v1/graphs", files=files, data=data)
        return self._http.post("/v1/graphs/import", held | {"source": source, "replace": replace})

    # Edits -----------------------------------------------------------------------------------

    @overload
    def score(
        self, rewrite: str | RewriteIn | Mapping[str, str], *, wait: Literal[True] = True,
        progress: Progress | None = None, timeout: float | None = None, **options: Any,
    ) -> Score: ...  # fmt: skip

    @overload
    def score(
        self, rewrite: str | RewriteIn | Mapping[str, str], *, wait: Literal[False],
        progress: Progress | None = None, timeout: float | None = None, **options: Any,
    ) -> EditOut: ...  # fmt: skip

    def score(
        self,
        rewrite: str | RewriteIn | Mapping[str, str],
        *,
        wait: bool = True,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Score | EditOut:
        """Score an edit; what is stored already comes back at once.

        Args:
            rewrite: id, its beginning, or subject of a stored rewrite; or one written out.
            wait: until it is scored; False gives the queued edit.
            progress: called with stage and fraction, such as `print`.
            timeout: seconds to wait at most; the edit goes on all the same.
            options: graph, method, model, samples, seed, overrides ... as `POST /v1/edits` takes.

        Raises:
            ProblemError: refused, or the edit failed: says why and what to do.
            TimeoutError: it was not scored in time; `wait` goes on waiting.
        """
        written = rewrite.model_dump() if isinstance(rewrite, RewriteIn) else rewrite
        body = {"rewrite": written if isinstance(written, str) else dict(written), **options}
        edit = EditOut.model_validate(self._http.post("/v1/edits", body))
        return self._finished(self.wait(edit.id, progress, timeout)) if wait else edit

    def wait(
        self, edit: str, progress: Progress | None = None, timeout: float | None = None
    ) -> EditOut:
        """Follow an edit until it has ended, however often the connection breaks.

        Raises:
            TimeoutError: it has not ended in time, and goes on.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        last: str | None = None
        while True:
            found = self.edit(edit)
            if found.status in ENDED:
                _tell(progress, found.stage or found.status, found.progress)
                return found
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(
                    f"Edit {found.id} is {found.status} ({found.stage}) after {timeout:g} s and"
                    " goes on; wait(…) waits on."
                )
            for event in self._http.events(f"/v1/edits/{_part(edit)}/events", last, left):
                last = event.id or last
                if event.name == "end" or (deadline and time.monotonic() > deadline):
                    break
                _tell(progress, str(event.data.get("stage")), event.data.get("progress") or 0.0)
            else:
                time.sleep(POLL_S)  # the stream ended or broke: look, then follow again

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
        return _frame(items, EDIT_COLUMNS)

    def edit(self, edit: str) -> EditOut:
        """How an edit stands, with its score once it has one."""
        return EditOut.model_validate(self._http.json(f"/v1/edits/{_part(edit)}"))

    def cancel(self, edit: str) -> Status:
        """Stop an edit that waits or runs; its status now."""
        return self._http.post(f"/v1/edits/{_part(edit)}/cancel")["status"]

    def delete(self, edit: str) -> None:
        """Remove an edit with its graph and score."""
        self._http.delete(f"/v1/edits/{_part(edit)}")

    # What an edit did ------------------------------------------------------------------------

    def chains(
        self,
        edit: str,
        *,
        surviving: bool = False,
        steps: int | None = None,
        max_steps: int | None = None,
        min_ratio: float | None = None,
        fact: str | None = None,
        measure: Measure | None = None,
        limit: int | None = None,
    ) -> pd.DataFrame:
        """One row a chain, strongest first: R before and R' after, and the links with their p."""
        items = self._http.pages(
            f"/v1/edits/{_part(edit)}/chains", limit, 1000,
            surviving=str(surviving).lower(), steps=steps, max_steps=max_steps,
            min_ratio=min_ratio, fact=fact, measure=measure,
        )  # fmt: skip
        rows = [{"chain": " → ".join(item["entities"]), **item} for item in items]
        return _frame(rows, CHAIN_COLUMNS)

    def leakage(
        self, edit: str, *, measure: Measure | None = None, limit: int = 1000
    ) -> pd.DataFrame:
        """The facts on surviving chains, most leakage first: what to edit next."""
        path = f"/v1/edits/{_part(edit)}/leakage"
        return _frame(self._http.json(path, measure=measure, limit=limit)["items"], LEAK_COLUMNS)

    def graph(self, edit: str, *, measure: Measure | None = None) -> nx.MultiDiGraph:
        """The facts around an edit: nodes are names, edges carry `p_pre` and `p_post`.

        Nodes have `role` (subject, target_true, target_new, entity); edges `relation`, `role`,
        `ratio`, `change`, `chains` and `surviving` too; the key of an edge is its fact's id.
        """
        import networkx as nx

        told = self._http.json(f"/v1/edits/{_part(edit)}/graph", measure=measure)
        made = nx.MultiDiGraph(edit=edit, measure=told["measure"])
        names = {node["id"]: node["name"] for node in told["nodes"]}
        for node in told["nodes"]:
            made.add_node(node["name"], id=node["id"], role=node["role"])
        for edge in told["edges"]:
            ends = names[edge.pop("source")], names[edge.pop("target")]
            p = {"p_pre": edge.pop("pre"), "p_post": edge.pop("post")}
            made.add_edge(*ends, key=edge.pop("id"), **p, **edge)
        return made

    def diff(self, a: str, b: str, *, measure: Measure | None = None) -> Diff:
        """What edit `b` did otherwise than edit `a`: metrics, facts flipped, chains."""
        path = f"/v1/edits/{_part(a)}/diff/{_part(b)}"
        return Diff.model_validate(self._http.json(path, measure=measure))

    def figure(
        self,
        edit: str,
        kind: Literal["leakage", "chain"] = "leakage",
        fmt: Literal["png", "svg", "pdf"] = "png",
        *,
        measure: Measure | None = None,
        n: int | None = None,
        limit: int | None = None,
    ) -> bytes:
        """A figure of an edit: the leakage graph of its `limit` strongest chains, or chain `n`."""
        path = f"/v1/edits/{_part(edit)}/figures/{kind}.{fmt}"
        return self._http.get(path, measure=measure, n=n, limit=limit).content

    # Many edits ------------------------------------------------------------------------------

    def leaderboard(
        self,
        graph: str | None = None,
        *,
        model: str | None = None,
        measure: Measure | None = None,
    ) -> pd.DataFrame:
        """One row a model and method; `attrs["caption"]` says what the numbers are."""
        told = self._http.json("/v1/leaderboard", graph=graph, model=model, measure=measure)
        frame = _frame(told["rows"])
        frame.attrs |= {"caption": told["caption"], "measure": told["measure"]}
        return frame

    def methods_figure(
        self,
        kind: Literal["ifr_by_steps", "ifr_preservation"],
        fmt: Literal["png", "svg", "pdf"] = "png",
        *,
        graph: str | None = None,
        model: str | None = None,
        measure: Measure | None = None,
    ) -> bytes:
        """A figure of the methods that the leaderboard shows."""
        path = f"/v1/figures/{kind}.{fmt}"
        return self._http.get(path, graph=graph, model=model, measure=measure).content

    def sweep(
        self,
        methods: Sequence[str],
        *,
        wait: bool = True,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> SweepOut:
        """Score methods on the rewrites of a graph; the same sweep again goes on.

        Args:
            options: graph, rewrites, models, seeds, samples ... as `POST /v1/sweeps` takes.

        Returns:
            Counts by status, the edits, and `table`: the rows of a DataFrame.

        Raises:
            TimeoutError: it has not ended in time, and goes on.
        """
        body = {"methods": list(methods), **options}
        sweep = SweepOut.model_validate(self._http.post("/v1/sweeps", body))
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            ended = sum(sweep.counts.get(status, 0) for status in ENDED)
            whole = sum(sweep.counts.values())
            _tell(progress, f"{ended} of {whole} edits", ended / whole if whole else 1.0)
            if ended == whole or not wait:
                # Posts and looks in between come without the table, which reads every score.
                return SweepOut.model_validate(self._http.json(f"/v1/sweeps/{_part(sweep.id)}"))
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"{ended} of {whole} edits of {sweep.id} ended; it goes on.")
            time.sleep(POLL_S)
            found = self._http.json(f"/v1/sweeps/{_part(sweep.id)}", table="false")
            sweep = SweepOut.model_validate(found)

    def methods(self) -> pd.DataFrame:
        """The editing methods, and the models they have hyperparameters for."""
        return _frame(self._http.json("/v1/methods")["items"])

    def queries(self) -> pd.DataFrame:
        """Every Cypher query the service runs, with its whole text: nothing is hidden."""
        return _frame(self._http.json("/v1/queries")["items"])

    def _finished(self, edit: EditOut) -> Score:
        if edit.score is not None:
            return edit.score
        raise ProblemError(
            f"Edit {edit.id} {edit.status}: {edit.error or 'no reason was given'}",
            edit.remedy or "Score it again.",
        )


def _part(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


def _tell(progress: Progress | None, stage: str, fraction: float) -> None:
    if progress is not None:
        progress(stage, fraction)


def _frame(
    items: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """A table; with its columns even where there is no row."""
    import pandas as pd

    return pd.DataFrame(list(items), columns=None if columns is None else list(columns))
