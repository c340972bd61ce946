"""Client methods for DepEdit: knowledge sets, runs of the protocol, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ..depedit.schemas import ProtocolOut
from .experiments import Experiments
from .http import Progress, frame, part

if TYPE_CHECKING:
    import pandas as pd


class Protocols(Experiments):
    """Methods of the client for DepEdit's protocol."""

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
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> ProtocolOut:
        """Run strategies on knowledge sets; stored runs are not repeated.

        Args:
            sets: ids; None: all of `graph`.
            strategies: such as `base`, `memit+forwchain`; None: all without training.
            progress: called with stage and fraction, such as `print`.
            timeout: maximum seconds to wait; it continues after that.
            options: model, editor, overrides, seed, force ... of `POST /v1/protocols`.

        Raises:
            ProblemError, TimeoutError: as `run`.
        """
        named = None if sets is None else list(sets)
        body = {"sets": named, "graph": graph, **options}
        if strategies is not None:
            body["strategies"] = list(strategies)
        done = self.run("protocols", body, progress=progress, timeout=timeout)
        return cast(ProtocolOut, done.result)

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
