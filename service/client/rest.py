"""A client for notebooks: scores as objects, tables as DataFrames, edits as graphs for networkx.

    from thinkeval.service.client.rest import Client

    with Client() as te:
        score = te.score(graph="hogwarts", rewrite="harry-potter--studied-at", method="rome")
        te.chains(score.edit, surviving=True)

It connects to a running `thinkeval serve` and loads no model; pandas and networkx are imported
for the first table or graph. docs/how-to/notebook.md is its guide.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast, overload

from ..base.errors import close_names, did_you_mean
from ..growth.output import write
from ..growth.schemas import CandidateDetail, GrowthIn, GrowthOut, Recorded, RecordedFile
from ..models.depedit import ProtocolOut, RunsIn, SetIn
from ..models.edit import ENDED, DriftLine, EditIn, Measure, Score, Status
from ..models.experiment import DerivationOut, EditOut, Experiment, Result, SweepIn, SweepOut
from ..models.leakcut import CoEditIn, CoEditOut, CutOut
from ..models.notebook import Picture, Plotted, drawn_by
from ..reports.leakage_selection import Selection
from ..states.schemas import ComparisonIn, ComparisonOut
from .http import Http, Named, ProblemError, Progress, failure, follow, frame, id_of, part
from .options import Rewrite, several, takes, written

if TYPE_CHECKING:
    import httpx
    import networkx as nx
    import pandas as pd


# Client methods for experiments: submit, wait, read results, tables and figures; of every kind.

SHOWN: dict[str, type[Experiment[Any]]] = {
    "edits": EditOut, "sweeps": Experiment[SweepOut], "coedits": Experiment[CoEditOut],
    "comparisons": Experiment[ComparisonOut], "growth": Experiment[GrowthOut],
    "protocols": Experiment[ProtocolOut], "derivations": Experiment[DerivationOut],
}  # fmt: skip
"""The model of an experiment by the path of its kind; of another kind the fields that all have."""


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


class Experiments:
    """`client.experiments`: experiments of every kind, by the path of the kind."""

    def __init__(self, http: Http, plot: Callable[..., Picture]) -> None:
        self._http, self._plot = http, plot

    def get(self, kind: str, id: str | Named) -> Experiment[Any]:
        """An experiment: its status, and its result once it has succeeded.

        Args:
            kind: the path of its kind, such as `comparisons`.
        """
        return self._shown(kind, self._http.json(f"/v1/{kind}/{part(id)}"))

    def _shown(self, kind: str, found: dict[str, Any]) -> Experiment[Any]:
        shown = SHOWN.get(kind, Experiment[Result]).model_validate(found)
        if isinstance(shown.result, Plotted):
            drawn_by(shown.result, self._plot)
        return shown

    def list(
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
        found = self._http.pages(f"/v1/{kind}", limit, 500, **wanted)
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
            TimeoutError: not ended in time; `wait` continues to wait.
        """
        posted = self._http.post(f"/v1/{kind}", body)
        if wait:
            return self.wait(kind, posted["id"], progress=progress, timeout=timeout)
        return self._shown(kind, posted)

    def wait(
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
            lambda: self.get(kind, id),
            ENDED,
            lambda late: f"{late.id} is {late.status} after {timeout:g} s.",
            progress,
            timeout,
        )
        if found.status != "succeeded":
            raise failure(found, found.id, "Submit it again.")
        return found

    def cancel(self, kind: str, id: str | Named) -> Status:
        """Cancel a queued or running experiment; its new status. Parts that are stored stay."""
        status: Status = self._http.post(f"/v1/{kind}/{part(id)}/cancel")["status"]
        return status

    def delete(self, kind: str, id: str | Named) -> None:
        """Delete an experiment that is not under way, with its job and all that it alone has."""
        self._http.delete(f"/v1/{kind}/{part(id)}")

    def drift(self, comparison: str | Named, measure: str | None = None) -> pd.DataFrame:
        """The drift of each state of a comparison: all facts, by distance, by relation."""
        out = cast(ComparisonOut, self.get("comparisons", comparison).result)
        chosen = measure or out.measure
        rows = out.to_frame("drift")
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

    def answers(self, edit: str | Named) -> pd.DataFrame:
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


# DepEdit: knowledge sets, runs of the protocol, tables.


class DepEdit:
    """`client.depedit`: knowledge sets, runs of DepEdit's protocol, and their tables."""

    def __init__(self, http: Http, experiments: Experiments) -> None:
        self._http, self._experiments = http, experiments

    def sets(
        self, graph: str | None = None, *, setting: str | None = None, limit: int | None = None
    ) -> pd.DataFrame:
        """The stored knowledge sets, by id."""
        found = self._http.pages("/v1/depedit/sets", limit, 1000, graph=graph, setting=setting)
        return frame(found)

    @takes(SetIn)
    def build(self, graph: str, **options: Any) -> pd.DataFrame:
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

    @takes(RunsIn)
    def run(
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
        named = None if sets is None else several(sets)
        body = {"sets": named, "graph": graph, **options}
        if strategies is not None:
            body["strategies"] = several(strategies)
        done = self._experiments.run("protocols", body, progress=progress, timeout=timeout)
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

    def report(
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


# Growth runs: grow, review, export.


class Growth:
    """`client.growth`: graphs grown from a model; their candidates, decisions and files."""

    def __init__(self, http: Http, experiments: Experiments) -> None:
        self._http, self._experiments = http, experiments

    @takes(GrowthIn)
    def run(
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
        done = self._experiments.run("growth", body, progress=progress, timeout=timeout)
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

    def add(
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

    def decisions(self, run: str) -> pd.DataFrame:
        """Return the decisions about a run's candidates, oldest first."""
        return frame(self._http.json(f"/v1/growth/{part(run)}/decisions")["items"])

    def export(
        self,
        run: str,
        target: str | Path,
        format: Literal["knowgic", "csv"] = "knowgic",
        *,
        max_steps: int = 5,
    ) -> list[str]:
        """Write the files of `thinkeval graph grow export`; return lost parts, with counts.

        Args:
            target: a folder, or a `.zip` that holds all files.
            format: KnowGIC's records of chains, or tables for a spreadsheet.
            max_steps: of the longest chain that is written.

        Raises:
            UsageError: the target cannot be written, or is a folder with other files.
        """
        found = self._http.json(
            f"/v1/growth/{part(run)}/export",
            format=format,
            max_steps=max_steps,
            packed=False,
        )
        write({name: text.encode() for name, text in found["files"].items()}, Path(target))
        return found["lost"]


# Figures.


class Figures:
    """`client.figures`: figures as bytes, of an edit and of the methods."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def edit(
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

    def methods(
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


# Verbs.


__all__ = ["CHAIN_COLUMNS", "LEAK_COLUMNS", "Client", "ProblemError"]


class Client:
    """Client of one service; use it as a context manager, or close it.

    Its own methods are the verbs of every day; the others are in `experiments`, `depedit`,
    `growth` and `figures`. `call` reaches every operation of the service by its name.

    Args:
        base_url: address of `thinkeval serve`.
        token: access token of the service; default: THINKEVAL_API_TOKEN, if set.
        timeout: seconds for one response.
        transport: HTTPX transport; default: the network.

    Raises:
        ProblemError: (every method) the service refused the request, with a remedy.
    """

    experiments: Experiments
    depedit: DepEdit
    growth: Growth
    figures: Figures

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = Http(base_url, token, timeout, transport)
        self._operations: dict[str, tuple[str, str, Sequence[Mapping[str, str]]]] = {}
        self.experiments = Experiments(self._http, self.plot)
        self.depedit = DepEdit(self._http, self.experiments)
        self.growth = Growth(self._http, self.experiments)
        self.figures = Figures(self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def call(self, operation: str, **values: Any) -> Any:
        """Call an operation of the service by its name in `/openapi.json`, such as `list_rules`.

        A list is a DataFrame, with all of its pages; another answer is its JSON.

        Args:
            values: parts of the path, query parameters, and fields of the body, all by name.

        Raises:
            ProblemError: no such operation, a part of the path is missing, or it was refused.
        """
        if not self._operations:
            found = self._http.json("/openapi.json")["paths"].items()
            self._operations = {
                each["operationId"]: (method, path, each.get("parameters", ()))
                for path, methods in found
                for method, each in methods.items()
            }
        if operation not in self._operations:
            known = self._operations
            near = f" {did_you_mean(close_names(operation, known))}".rstrip()
            raise ProblemError(
                f"The service has no operation {operation!r}.{near}",
                f"It has {', '.join(sorted(known))}.",
            )
        method, path, parameters = self._operations[operation]
        names: dict[str, list[str]] = {"path": [], "query": [], "header": []}
        for each in parameters:
            names[each["in"]].append(each["name"])
        if missing := [name for name in names["path"] if name not in values]:
            raise ProblemError(f"{operation} lacks {', '.join(missing)}.", f"{path} names it.")
        path = path.format(**{name: part(values.pop(name)) for name in names["path"]})
        asked = {name: values.pop(name) for name in names["query"] if name in values}
        if method == "delete":
            return self._http.delete(path)
        if method == "post":
            return self._http.post(path, values)
        if values:
            raise ProblemError(
                f"{operation} has no {', '.join(values)}.", f"It has {', '.join(names['query'])}."
            )
        if "cursor" in names["query"]:
            return frame(self._http.pages(path, asked.pop("limit", None), 1000, **asked))
        found = self._http.json(path, **asked)
        return frame(found["items"]) if found.keys() == {"items"} else found

    # Graphs ----------------------------------------------------------------------------------

    def rewrites(self, graph: str) -> pd.DataFrame:
        """The rewrite requests of a graph, with the number of their chains by steps."""
        items = self._http.pages("/v1/rewrites", None, 500, graph=graph)
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
        map: Sequence[str] | None = None,
        replace: bool = False,
        strict: bool = False,
    ) -> dict[str, Any]:
        """Import a local file, or else a graph or file of that name on the service's side.

        Args:
            map: `COLUMN=ROLE` for each column of a table whose name does not say its role.
            strict: store nothing if the label audit has a finding.

        Returns:
            Numbers of records that were read, stored, merged, repaired and refused.
        """
        options = {
            "name": name, "format": format, "target_new": target_new, "limit": limit, "map": map
        }  # fmt: skip
        given: dict[str, Any] = {k: v for k, v in options.items() if v is not None}
        path = Path(source)
        if isinstance(source, Path) or path.is_file():
            with path.open("rb") as file:
                files = {"file": (path.name, file)}
                data = given | {"replace": str(replace).lower(), "strict": str(strict).lower()}
                return self._http.post("/v1/graphs", files=files, data=data)
        body = given | {"source": source, "replace": replace, "strict": strict}
        return self._http.post("/v1/graphs/import", body)

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

    @takes(EditIn)
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
            TimeoutError: not scored in time; `experiments.wait("edits", id)` continues to wait.
        """
        if rewrite is None:
            rewrite = named
        elif isinstance(named, str):
            model = named
        if model is not None:
            options["model"] = model
        body = {"rewrite": written(rewrite), **options}
        edit = self.experiments.run("edits", body, wait=wait, progress=progress, timeout=timeout)
        return cast(Score, edit.result) if wait else cast(EditOut, edit)

    # Many edits ------------------------------------------------------------------------------

    @takes(SweepIn)
    def sweep(
        self,
        methods: Sequence[str],
        *,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> SweepOut:
        """Score methods on the rewrites of a graph; the same sweep resumes.

        `experiments.table("sweeps", sweep, "methods")` is its table over common rewrites.

        Args:
            options: graph, rewrites, models, seeds, samples ... of `POST /v1/sweeps`.

        Raises:
            ProblemError, TimeoutError: as `run`; an edit without a score alone does not raise.
        """
        body = {"methods": several(methods), **options}
        done = self.experiments.run("sweeps", body, progress=progress, timeout=timeout)
        return cast(SweepOut, done.result)

    @takes(CoEditIn)
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
        done = self.experiments.run("coedits", body, progress=progress, timeout=timeout)
        return cast(CoEditOut, done.result)

    @takes(ComparisonIn)
    def compare(
        self,
        base: str,
        *states: str | list[str],
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
                with this put on: `+8bit`, `+finetune:graph:steps=200`. A list of them is the
                same.
            rewrites: ids or subjects of rewrite requests that are scored between the states.
            forget: facts that shall be forgotten, each `SUBJECT|RELATION|OBJECT`.
            options: samples, all_rewrites, max_steps ... of `POST /v1/comparisons`.

        Raises:
            ProblemError, TimeoutError: as `run`.
        """
        body = {"base": base, "states": several(states), "graph": graph, **options}
        body |= {"rewrites": several(rewrites), "forget": several(forget)}
        done = self.experiments.run("comparisons", body, progress=progress, timeout=timeout)
        return cast(ComparisonOut, done.result)

    # Results of an edit --------------------------------------------------------------------

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
        found = self.experiments.table("edits", edit, "leaks", measure=measure)
        return found.reindex(columns=list(LEAK_COLUMNS)).head(limit)

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

    def plot(self, shown: str | Named, *, measure: Measure | None = None) -> Picture:
        """The leakage map of an edit, or the drift of a comparison; a notebook shows it.

        `save` writes it to a file.
        """
        if isinstance(shown, ComparisonOut):
            path = f"/v1/comparisons/{part(shown)}/figures/drift.svg"
            return Picture(self._http.get(path, measure=measure).content)
        return Picture(self.figures.edit(shown, "leakage", "svg", measure=measure))

    def leaderboard(
        self,
        graph: str | None = None,
        *,
        model: str | None = None,
        measure: Measure | None = None,
        rewrites: Literal["common", "all"] | None = None,
        differences: bool = False,
    ) -> pd.DataFrame:
        """One row a model and method; `attrs["caption"]` describes the numbers.

        Over the rewrites that all methods have, or (`rewrites="all"`) each over its own;
        `attrs["warnings"]` lists the rows left out.

        Args:
            differences: one row a method and metric instead: its difference from the best method of
                its model, paired over the rewrites that both have, with the interval over families
                and the adjusted p.
        """
        found = self._http.json(
            "/v1/leaderboard", graph=graph, model=model, measure=measure, rewrites=rewrites
        )
        table = frame(found["differences" if differences else "rows"])
        table.attrs |= {name: found[name] for name in ("caption", "measure", "warnings")}
        return table
