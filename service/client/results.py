"""Client methods for results of edits: chains, leakage, graphs, figures, tables over edits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..leakcut.schemas import CutOut
from ..notebook_view import Picture
from ..reports.leakage_map.selection import Selection
from ..reports.schemas import Diff
from ..schemas import Measure
from ..states.schemas import ComparisonOut
from .http import Http, Named, frame, id_of, part

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

CHAIN_COLUMNS = ("chain", "steps", "r_pre", "r_post", "ratio", "surviving", "entities", "links")
LEAK_COLUMNS = (
    "subject", "relation", "object", "chains", "share", "ifr_share", "pre", "post", "prompt", "id",
)  # fmt: skip

APPEND_COLUMNS = ("place", "role", "text", "answer", "name", "pre", "post")


def _answers(item: Mapping[str, Any], new: str) -> Iterator[dict[str, Any]]:
    """The answers at one prompt, as rows."""
    for kind, name in (("new", new), ("right", None)):
        if item[f"{kind}_pre"] is not None:
            both = {side: item[f"{kind}_{side}"] for side in ("pre", "post")}
            yield {"answer": kind, "name": name, **both}
    for kind in ("correct", "hard", "random"):
        for i, name in enumerate(item[kind]):
            both = {side: item[f"{kind}_{side}"][i] for side in ("pre", "post")}
            yield {"answer": kind, "name": name, **both}


class Results:
    """Methods of the client for scored edits."""

    _http: Http

    def chains(
        self,
        edit: str | Named,
        *,
        surviving: bool = False,
        steps: int | None = None,
        max_steps: int | None = None,
        min_ratio: float | None = None,
        fact: str | None = None,
        measure: Measure | None = None,
        limit: int | None = None,
    ) -> pd.DataFrame:
        """One row a chain, most of IFR first: R before, R' after, and the links with their p."""
        items = self._http.pages(
            f"/v1/edits/{part(edit)}/chains", limit, 1000,
            surviving=str(surviving).lower(), steps=steps, max_steps=max_steps,
            min_ratio=min_ratio, fact=fact, measure=measure,
        )  # fmt: skip
        rows = [{"chain": " → ".join(item["entities"]), **item} for item in items]
        return frame(rows, CHAIN_COLUMNS)

    def leakage(
        self, edit: str | Named, *, measure: Measure | None = None, limit: int = 1000
    ) -> pd.DataFrame:
        """The facts on surviving chains, most leakage first: candidates for the next edit."""
        path = f"/v1/edits/{part(edit)}/leakage"
        return frame(self._http.json(path, measure=measure, limit=limit)["items"], LEAK_COLUMNS)

    def leak_cut(
        self,
        edit: str | Named,
        *,
        graph: str | None = None,
        measure: Measure | None = None,
        **options: Any,
    ) -> CutOut:
        """The fewest further facts whose change closes every chain that leaks.

        Args:
            edit: a scored edit; with a graph, a rewrite of it, before any edit.
            options: leak, max_steps, lock, keys, budget ... of `GET /v1/edits/{id}/leakcut`.
        """
        path = f"/v1/edits/{part(edit)}/leakcut"
        if graph is not None:
            path = f"/v1/graphs/{part(graph)}/rewrites/{part(edit)}/leakcut"
        asked = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in options.items()
        }
        return CutOut.model_validate(self._http.json(path, measure=measure, **asked))

    def graph(self, edit: str | Named, *, measure: Measure | None = None) -> nx.MultiDiGraph:
        """The graph of an edit: nodes are names, edges have `p_pre` and `p_post`.

        Nodes have `role` (subject, target_true, target_new, entity); edges `relation`, `role`,
        `ratio`, `change`, `chains` and `surviving`; the key of an edge is its fact's id.
        """
        import networkx as nx

        found = self._http.json(f"/v1/edits/{part(edit)}/graph", measure=measure)
        graph = nx.MultiDiGraph(edit=id_of(edit), measure=found["measure"])
        names = {node["id"]: node["name"] for node in found["nodes"]}
        for node in found["nodes"]:
            graph.add_node(node["name"], id=node["id"], role=node["role"])
        for edge in found["edges"]:
            ends = names[edge.pop("source")], names[edge.pop("target")]
            p = {"p_pre": edge.pop("pre"), "p_post": edge.pop("post")}
            graph.add_edge(*ends, key=edge.pop("id"), **p, **edge)
        return graph

    def append_answers(self, edit: str | Named) -> pd.DataFrame:
        """P of each answer before and after an edit that appends one, prompt by prompt.

        Columns: place, role and text of the prompt; `answer` (new, correct, hard, random, or right
        at a prompt of locality) and its name, which a right answer lacks; pre and post.
        """
        new = self._http.json(f"/v1/edits/{part(edit)}")["target_new"]
        items = self._http.json(f"/v1/edits/{part(edit)}/answers")["items"]
        rows = [
            {key: item[key] for key in ("place", "role", "text")} | answer
            for item in items
            for answer in _answers(item, new)
        ]
        return frame(rows, APPEND_COLUMNS)

    def diff(self, a: str | Named, b: str | Named, *, measure: Measure | None = None) -> Diff:
        """Differences of edit `b` from edit `a`: metrics, changed facts, chains."""
        path = f"/v1/edits/{part(a)}/diff/{part(b)}"
        return Diff.model_validate(self._http.json(path, measure=measure))

    def figure(
        self,
        edit: str | Named,
        kind: Literal["leakage", "chain"] = "leakage",
        fmt: Literal["png", "svg", "pdf"] = "png",
        *,
        measure: Measure | None = None,
        n: int | None = None,
        limit: int | None = None,
        selection: Selection | None = None,
        caption: bool = True,
    ) -> bytes:
        """A figure of an edit: the leakage map of its `limit` first chains, or chain `n`.

        Args:
            selection: which chains the map draws; by default all.
            caption: True if the map has its title and caption.
        """
        path = f"/v1/edits/{part(edit)}/figures/{kind}.{fmt}"
        chosen = selection.model_dump(exclude_defaults=True) if selection else {}
        said = None if caption else False
        return self._http.get(
            path, measure=measure, n=n, limit=limit, caption=said, **chosen
        ).content

    def plot(self, shown: str | Named, *, measure: Measure | None = None) -> Picture:
        """The leakage map of an edit, or the drift of a comparison; a notebook shows it.

        `save` writes it to a file.
        """
        if isinstance(shown, ComparisonOut):
            path = f"/v1/comparisons/{part(shown)}/figures/drift.svg"
            return Picture(self._http.get(path, measure=measure).content)
        return Picture(self.figure(shown, "leakage", "svg", measure=measure))

    def leaderboard(
        self,
        graph: str | None = None,
        *,
        model: str | None = None,
        measure: Measure | None = None,
        rewrites: Literal["common", "all"] | None = None,
    ) -> pd.DataFrame:
        """One row a model and method; `attrs["caption"]` describes the numbers.

        Over the rewrites that all methods have, or (`rewrites="all"`) each over its own;
        `attrs["warnings"]` lists the rows left out.
        """
        found = self._http.json(
            "/v1/leaderboard", graph=graph, model=model, measure=measure, rewrites=rewrites
        )
        table = frame(found["rows"])
        table.attrs |= {name: found[name] for name in ("caption", "measure", "warnings")}
        return table

    def methods_figure(
        self,
        kind: Literal["ifr_by_steps", "ifr_preservation"],
        fmt: Literal["png", "svg", "pdf"] = "png",
        *,
        graph: str | None = None,
        model: str | None = None,
        measure: Measure | None = None,
        rewrites: Literal["common", "all"] | None = None,
    ) -> bytes:
        """A figure of the methods of the leaderboard."""
        path = f"/v1/figures/{kind}.{fmt}"
        asked = {"graph": graph, "model": model, "measure": measure, "rewrites": rewrites}
        return self._http.get(path, **asked).content

    def methods(self) -> pd.DataFrame:
        """The editing methods, and the models they have hyperparameters for."""
        return frame(self._http.json("/v1/methods")["items"])

    def queries(self) -> pd.DataFrame:
        """Every Cypher query of the service, with its complete text."""
        return frame(self._http.json("/v1/queries")["items"])
