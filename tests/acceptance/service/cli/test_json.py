"""Every command that prints data prints JSON with `--json`; run on a tiny model, in process."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import neo4j
import numpy as np
import pytest
import typer

from support.commands import Done
from support.own_graphs import own_graphs
from support.tiny_models import build_tiny
from thinkeval.cypher.embedded import Repair, ServerStatus
from thinkeval.cypher.run import Database
from thinkeval.editing.organism.report import RecallReport
from thinkeval.service.cli import main
from thinkeval.service.depedit import store as sets
from thinkeval.service.scoring.runtime import Runtime

Call = Callable[..., Done]
WITHOUT_DATA = {"serve", "db worker"}
"""Commands that run until they are stopped."""

REWRITE = "harry-potter--studied-at"
FORGOTTEN = "Harry Potter|studied at|Hogwarts School of Witchcraft and Wizardry"
SUBJECT_AND_RELATION = ("Harry Potter", "studied at")
HPARAMS: dict[str, dict[str, object]] = {
    "fine_tuning": {
        "layers": [1], "num_steps": 2, "lr": 1e-3, "weight_decay": 0, "norm_constraint": 1e-3,
    },
    "rome": {
        "layers": [1], "v_num_grad_steps": 2, "v_lr": 0.1, "v_weight_decay": 1e-3,
        "clamp_norm_factor": 4, "kl_factor": 0.0625, "mom2_adjustment": True,
        "context_template_length_params": [[2, 2]],
    },
    "mend": {
        "layers": [1], "rank": 4, "edit_lr": -1e-3, "lr": 1e-3, "lr_lr": 1e-2, "batch_size": 4,
        "accumulate_bs": 1, "max_iters": 2, "val_interval": 2, "val_steps": 2, "n_locality": 1,
    },
}  # fmt: skip
DRAW = (
    *("--facts", "6", "--unrelated", "2", "--implications", "3", "--copies", "1"),
    *("--updates", "2"),
)


def commands(app: typer.Typer) -> set[str]:
    """The path of every command, such as `graph rules list`; a group that runs by itself is one."""

    def below(command: Any, path: tuple[str, ...]) -> Iterator[str]:
        nested = getattr(command, "commands", None)
        if nested is None or command.invoke_without_command:
            yield " ".join(path)
        for name, each in (nested or {}).items():
            yield from below(each, (*path, name))

    return set(below(typer.main.get_command(app), ()))


@dataclass
class Session:
    """Runs commands with `--json` and collects which were run."""

    call: Call
    env: dict[str, str]
    done: set[str]

    def __call__(self, command: str, *args: str | Path, **env: str) -> Any:
        """The parsed output of one command."""
        done = self.call(*command.split(), *args, "--json", **(self.env | env))
        assert done.code == 0, (command, args, done)
        self.done.add(command)
        return json.loads(done.out)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny model, hyperparameters and a published covariance."""
    model, tokenizer = build_tiny("gpt2", seed=1)
    model.save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    for method, values in HPARAMS.items():
        (tmp_path / f"{method}.json").write_text(json.dumps(values))
    np.savez(tmp_path / "transformer.h.1.mlp.c_proj_float32_mom2_100000.npz", **{
        "mom2.constructor": "util.runningstats.SecondMoment()", "mom2.count": 128,
        "mom2.mom2": np.eye(128, dtype=np.float32), "sample_size": 100000,
    })  # fmt: skip
    return tmp_path


@pytest.fixture
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as name:
        yield name
        for row in sets.list_sets(db):
            if row.dataset.startswith(name):
                sets.delete_set(db, row.id)


@pytest.fixture
def session(at_once: Call, tmp_path: Path) -> Session:
    return Session(at_once, {"THINKEVAL_CACHE": str(tmp_path / "cache")}, set())


@pytest.fixture
def user(server: dict[str, str]) -> Iterator[str]:
    name = f"test-{uuid.uuid4().hex[:10]}"
    yield name
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
        driver.execute_query("DROP USER $name IF EXISTS", name=name, database_="system")


def test_every_command_that_prints_data_prints_json(
    session: Session, folder: Path, prefix: str, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = f"{prefix}-hogwarts"
    edits = edited(session, folder, graph)
    ruled(session, graph, edits)
    established(session, folder, f"{prefix}-atlas")
    grown(session, folder, graph)
    appended(session, folder, graph)
    served(session, user, monkeypatch)
    backed_up(session, folder, monkeypatch)
    removed = session("results edits", edits[0], "--delete")
    assert removed == {"deleted": edits[0], "edits": [edits[0]]}
    gone = session("results graphs", graph, "--delete", "--with-dependents")
    assert gone["deleted"] == graph
    assert edits[1] in gone["edits"]
    assert session.done == commands(main.app) - WITHOUT_DATA


def edited(session: Session, folder: Path, graph: str) -> list[str]:
    """Import, probe, score and report; the ids of two edits."""
    model = ("--model", folder / "tiny")
    on = ("-g", graph, *model, "--samples", "0")
    tuned = ("-m", "fine_tuning", "--hparams", folder / "fine_tuning.json")
    assert session("import", "hogwarts", "--name", graph)["graph"] == graph
    assert graph in {each["id"] for each in session("results graphs")}
    assert REWRITE in " ".join(each["id"] for each in session("graph rewrites", graph))
    assert session("probe", graph, *model, "--samples", "0")["n_facts"] == 108
    (one,) = session("score", REWRITE, *on, *tuned, "--anyway")
    (two,) = session("score", REWRITE, *on, "-m", "none", "--anyway")
    edits = [one["edit"], two["edit"]]
    assert {e["id"] for e in session("results edits", "-g", graph)} == set(edits)
    assert session("results sweeps", "-g", graph) == []
    assert session("results chains", edits[0], "--limit", "2")[0]["steps"]
    shown = session("show", edits[0])
    assert shown["headline"].startswith("Nothing to measure")
    assert shown["verdict"] == [], "a random model knows nothing"
    every = session("results chains", edits[0], "--limit", "0")
    assert shown["tree"] == []
    assert not any(chain["known"] for chain in every)
    assert session("lab leakcut", edits[0])["edit"] == edits[0]
    coedit = session(
        "lab coedit", REWRITE, "-g", graph, *model, *tuned, "--rounds", "1", "--anyway"
    )["id"]
    assert [each["id"] for each in session("results coedits", "-g", graph)] == [coedit]
    states = (f"{folder / 'tiny'}", f"{folder / 'tiny'}+edit:{edits[0]}")
    compared = session("compare", *states, "-g", graph, "--samples", "0")
    assert compared["n_facts"] == 108
    assert [each["id"] for each in session("results comparisons", "-g", graph)] == [compared["id"]]
    by_method = session("report", "-g", graph)
    assert {row["Method"] for row in by_method} == {"fine_tuning", "none"}
    assert by_method == session("report", "-g", graph, "-f", "json")
    assert (
        session("sweep", REWRITE, *on, "-m", "none", "--anyway", "--workers", "1")["failed"] == []
    )
    assert session("lab sequence", REWRITE, *on, "-m", "none")
    assert session("results deltas export", edits[0], "-o", folder / "delta")
    assert session("results deltas apply", folder / "tiny", edits[0], "-o", folder / "edited")
    assert session("results deltas verify", edits[0])["undone"]
    forgotten = session("compare", *states, "-g", graph, "--samples", "0", "--forget", FORGOTTEN)
    audited = session("results audit", forgotten["id"], "-o", folder / "audit")
    assert audited["verdict"]["requests"]
    several = session("compare", *states, f"+edit:{edits[0]}", "-g", graph, "--samples", "0")
    assert [state["spec"] for state in several["states"]] == [f"+edit:{edits[0]}"] * 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Runtime, "train", lambda *_: trained(folder))
        assert session("model organism train", graph)["share"] == 1.0
    assert session("model hparams suggest", folder / "tiny", "-m", "rome")["notes"]
    assert session("model tune", folder / "tiny", "-g", graph, "-m", "kn") == []
    assert session("model train-mend", graph, *model, "--hparams", folder / "mend.json")["file"]
    rome = ("--method", "rome", "--hparams", folder / "rome.json")
    assert session("model covariance", graph, *model, *rome)
    (published,) = folder.glob("*.npz")
    assert session("model covariance import", published, *model)
    assert session("demo", *model, "-m", "none", "--samples", "1")["scores"]
    session.done.add("model covariance collect")  # the hidden name of `covariance`
    session.done.discard("model covariance")
    return edits


def trained(folder: Path) -> SimpleNamespace:
    """Return the result of training an organism; a real training takes a minute."""
    values = dict.fromkeys((field.name for field in fields(RecallReport)), 1.0)
    recall = RecallReport(**values)  # type: ignore[arg-type]
    return SimpleNamespace(path=folder, from_cache=False, recall=recall, absent=None)


def ruled(session: Session, graph: str, edits: list[str]) -> None:
    """Find, add, review and apply rules."""
    assert session("graph rules mine", graph, "--min-support", "5")
    assert session("results derivations", "-g", graph) == []  # a command has no job
    added = session("graph rules add", graph, "hogwarts")[0]
    assert added["id"] in {rule["id"] for rule in session("graph rules list", graph)}
    assert session("graph rules show", graph, added["id"])["examples"] is not None
    assert session("graph rules relations", graph)["relations"]
    assert session("graph rules label", graph, added["id"], "a", "--annotator", "ann")["labels"]
    assert session("graph rules agreement", graph)["n"] == 0
    assert session("graph rules instantiate", graph)["items"]
    assert session("graph rules closure", edits[0], "--limit", "1")["rules"]
    assert session("results implications", edits[0])["chains"]
    assert isinstance(session("graph rules prove", edits[0], *FORGOTTEN.split("|")), list)
    assert session("graph rules delete", graph, added["id"]) == {"graph": graph, "deleted": 1}


def established(session: Session, folder: Path, atlas: str) -> None:
    """Knowledge sets, runs and their report."""
    session("import", "atlas", "--name", atlas)
    session("graph rules add", atlas, "atlas")
    built = session("lab depedit build", atlas, *DRAW)["sets"]
    set_id, model = built[0]["id"], ("--model", folder / "tiny")
    assert session("lab depedit export", set_id)[0]
    file = folder / "sets.jsonl"
    session.call("lab", "depedit", "export", set_id, "-o", file)
    assert session("lab depedit import", file)["sets"]
    protocol = session("lab depedit run", set_id, *model, "-s", "base")
    assert protocol["runs"]
    assert protocol["id"] in [each["id"] for each in session("results protocols")]
    assert session("lab depedit similarity", set_id, *model, "--pairs", "1")
    assert session("lab depedit list", "-g", atlas)
    assert session("lab depedit show", set_id)["questions"]
    report = session("lab depedit report", "-g", atlas)
    assert report == session("lab depedit report", "-g", atlas, "-f", "json")
    assert report["specificity"]
    gone = session("lab depedit delete", set_id)
    assert gone == [{"set": set_id, "runs": 1}]


def grown(session: Session, folder: Path, graph: str) -> None:
    """Growth runs of a model that knows nothing, their review, files, and a crawl of no steps."""
    on = ("--model", folder / "tiny", "--samples", "1")
    verbs = folder / "v.csv"
    shallow = ("--elicit", "crawl", "--set", "depth=0")
    run = session("graph grow augment", graph, *shallow, *on)["id"]
    assert run in {each["id"] for each in session("results growth")}
    found = session("graph grow candidates", run, "--state", "all")["items"][0]
    assert session("graph grow show", run, found["id"])
    assert session("graph grow decisions", run)["items"] == []
    verbs.write_text(f"candidate,verb\n{found['id']},prune\n")
    assert session("graph grow decide", run, verbs, "--as", "ann")["recorded"] == 1
    assert session("results growth", run)["judged"][-1]["judged"] == 0
    assert session("graph grow export", run, "--format", "csv", "-o", folder / "run.zip")
    assert session("model audit-knowledge", graph, *on)
    crawl = ("--base", graph, *shallow)
    assert session("graph grow start", "--seed", "Ron Weasley", *crawl, "--dry-run", *on)
    started = session("graph grow start", "--seed", "Ron Weasley", *crawl, *on)["id"]
    crawled = session("graph crawl run", graph, "--start", "Ron Weasley", "--depth", "0", *on)[
        "run"
    ]
    assert session("graph crawl report", crawled)["questions"] == 0
    nothing = session("lab audit-subject", "Ron Weasley", "-g", graph, *on[:2], "--depth", "1")
    assert nothing["forget"] == []
    for name in {run, started, crawled, nothing["run"]}:
        session.call("results", "growth", name, "--delete")


def appended(session: Session, folder: Path, graph: str) -> None:
    """Requests to append an answer, of the graph's facts."""
    model = ("--model", folder / "tiny")
    assert "append" not in session.call("graph", "rewrites", graph, **session.env).out
    built = session("graph rewrites", graph, "--build", "append", *model)["built"]
    assert {request["kind"] for request in built} == {"append"}
    assert session("graph rewrites", graph, "--build", "append", *model)["stored"] == len(built)
    kinds = {each["id"]: each["kind"] for each in session("graph rewrites", graph)}
    assert {id for id, kind in kinds.items() if kind == "append"} == {r["id"] for r in built}
    shown = session.call("graph", "rewrites", graph, **session.env).out
    assert "append" in shown
    assert "replace" in shown
    scored = session(
        "sweep", built[0]["id"], "-g", graph, *model, "-m", "none", "--axis", "append_loss=none",
        "--workers", "1",
    )  # fmt: skip
    assert scored["failed"] == []
    assert session("report", "--kind", "append", "-g", graph) == scored["table"]


def served(session: Session, user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogues, the database's commands on a server that is not started, a new user."""
    assert session("model methods")
    assert session("db metrics")
    assert session("doctor")
    assert session("db queries")
    one = session("db queries", "metrics/ifr")
    assert one["name"] == "metrics/ifr"
    assert "MATCH" in one["text"]
    assert session("db fleet")["nodes"] == []
    assert session("db user", user, THINKEVAL_NEW_PASSWORD="a password of eleven")["user"] == user
    module = import_module("thinkeval.service.cli.serve")  # the package has a group of that name
    monkeypatch.setattr(module, "embedded_server", lambda _: Server())
    for command in ("db start", "db status"):
        assert session(command, THINKEVAL_NEO4J_URI="")["running"] is False
    assert session("db stop", THINKEVAL_NEO4J_URI="") == {"stopped": False}
    repaired = session("db repair", THINKEVAL_NEO4J_URI="")
    assert repaired == {"copy": str(Path("copy")), "cut_bytes": 8192}


def backed_up(session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backup of one home, restored into another; other tests have no part in either."""
    monkeypatch.undo()  # of the server that does not run
    one, two = ({"THINKEVAL_NEO4J_URI": "", "THINKEVAL_HOME": f"{folder / name}"} for name in "ab")
    file = folder / "thinkeval.zip"
    try:
        assert session("import", "hogwarts", **one)["graph"] == "hogwarts"
        made = session("db backup", file, **one)
        assert session("db verify", file)["nodes"] == made["n_nodes"]
    finally:
        session("db stop", **one)
    try:
        restored = session("db restore", file, **two)
        assert restored["nodes"] == made["n_nodes"]
        assert {each["id"] for each in session("results graphs", **two)} == {"hogwarts"}
    finally:
        session("db stop", **two)


class Server:
    """An embedded server that does not run."""

    def ensure_running(self, progress: object) -> None: ...

    def repair(self, progress: object) -> Repair:
        return Repair(Path("copy"), 8192)

    def stop(self, *, force: bool) -> bool:
        return force

    def status(self) -> ServerStatus:
        values = dict.fromkeys((field.name for field in fields(ServerStatus)), None)
        return ServerStatus(**values | {"running": False})  # type: ignore[arg-type]


def test_json_and_another_format_exclude_each_other(at_once: Call) -> None:
    for command in (("report",), ("lab", "depedit", "report")):
        assert "--format csv exclude" in at_once(*command, "--json", "-f", "csv").error
