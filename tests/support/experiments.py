"""A stored result and a request of each kind of experiment but growth, for tests of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from support.states.comparisons import comparison, sequence
from support.stored_edits import frontier, random_facts, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.experiments import store
from thinkeval.service.experiments.edit import EDIT
from thinkeval.service.experiments.sweep import SWEEP
from thinkeval.service.models.depedit import ProtocolOut
from thinkeval.service.models.experiment import DerivationOut, Result, SweepIn
from thinkeval.service.models.leakcut import CoEditOut
from thinkeval.service.states.schemas import ComparisonOut


@dataclass(frozen=True)
class Sample:
    """Inputs with which the doors of a kind are tried.

    Attributes:
        result: a result of this id, over a graph and the edits that it scored; None of a kind
            whose records differ.
        request: a body, beside the graph; `other` changes it into another one, `wrong` into one
            that is refused, each with a part of the reason.
        first: the name of its first table, the beginning of that table's CSV, and a part of its
            Markdown.
        said: a part of the sentences.
    """

    result: Callable[[str, str, list[str]], Result] | None
    request: Mapping[str, Any]
    other: Mapping[str, Any]
    wrong: tuple[tuple[Mapping[str, Any], str], ...]
    first: tuple[str, str, str]
    said: str


def coedit(id: str, graph: str, edits: list[str]) -> CoEditOut:
    """A co-edit of three rounds."""
    made = frontier(id=id, graph=graph, created_at="2026-11-23T08:00:00+00:00")
    rounds = zip(made.rounds, edits, strict=True)
    return made.model_copy(
        update={"rounds": [row.model_copy(update={"edit": edit}) for row, edit in rounds]}
    )


def one_state(id: str, graph: str, edits: list[str]) -> ComparisonOut:
    """A comparison of a base and one state."""
    return comparison(id, graph, edits[0])


def three_states(id: str, graph: str, edits: list[str]) -> ComparisonOut:
    """A comparison of a base and three states."""
    return sequence(id, graph, edits[0])


def protocol(id: str, graph: str, edits: list[str]) -> ProtocolOut:
    """Two strategies on one knowledge set, whose table has no row."""
    return ProtocolOut(
        id=id, graph=graph, model="m", sets=["s"], strategies=["base", "random"],
        runs=["s.base", "s.random"], methods=[], request={"sets": ["s"], "graph": graph},
        created_at="2026-11-23T08:00:00+00:00",
    )  # fmt: skip


def derivation(id: str, graph: str, edits: list[str]) -> DerivationOut:
    """Three mined rules, one of them new."""
    return DerivationOut(
        id=id, graph=graph, what="rules", rules=3, total=5, created=1, seconds=0.5,
        request={"graph": graph}, created_at="2026-11-23T08:00:00+00:00",
    )  # fmt: skip


_COMPARED = {"base": "organism", "states": ["organism:seed=1"]}
_FACT = "Draco Malfoy | studied at | Hogwarts School of Witchcraft and Wizardry"

SAMPLES: dict[str, Sample] = {
    "derivation": Sample(
        derivation,
        {"min_support": 1},
        {"min_support": 3},
        (
            ({"what": "proofs"}, "what"),
            ({"min_support": 0}, "min_support"),
            ({"what": "conclusions"}, "no kept rules"),
            ({"what": "conclusions", "rules": ["none-such"]}, "none-such"),
            ({"graph": "none-such"}, "none-such"),
        ),
        ("counts", "graph,what,rules", "| rules |"),
        "3 rules mined, 1 of them new; 2 more left out by the limits.",
    ),
    "edit": Sample(
        None,
        {"rewrite": "harry-potter--studied-at"},
        {"seed": 1},
        (
            ({"rewrite": "nobody"}, "nobody"),
            ({"model": "/etc"}, "not one this service may load"),
            ({"hparams": "/etc/passwd"}, "no hyperparameter file"),
            ({"overrides": {"archive": "x"}}, "names a file"),
            ({"max_steps": 6}, "max_steps"),
            ({"graph": "none-such"}, "none-such"),
        ),
        ("metrics", "metric,likelihood", "| Efficacy |"),
        "rome",
    ),
    "sweep": Sample(
        None,
        {"methods": ["none", "rome"], "rewrites": ["harry-potter--studied-at"], "seeds": [3]},
        {"seeds": [4]},
        (
            ({"methods": ["none-such"]}, "none-such"),
            ({"rewrites": ["nobody"]}, "nobody"),
            ({"models": ["/etc"]}, "not one this service may load"),
            ({"seeds": []}, "seeds"),
            (
                {"methods": ["none"] * 50, "seeds": list(range(50)), "rewrites": ["x"] * 5},
                "may ask for",
            ),
        ),
        ("methods", "Model,Method", "| rome |"),
        "rome",
    ),
    "coedit": Sample(
        coedit,
        {"rewrite": "harry-potter--studied-at", "rounds": 2},
        {"rounds": 3},
        (
            ({"objective": "leak less"}, "no comparison"),
            ({"method": "none"}, "control"),
            ({"method": "rome", "anchors": True}, "joint target"),
            ({"rounds": 0}, "rounds"),
            ({"rewrite": "nobody"}, "nobody"),
            ({"cut": {"leak": 2}}, "leak"),
        ),
        ("frontier", "Round,Edit,Facts,IFR", "0.061 [0.02, 0.11]"),
        "Round 1 is chosen: 1 further fact, IFR 0.061 after 0.400.",
    ),
    "comparison": Sample(
        one_state,
        _COMPARED,
        {"forget": [_FACT]},
        (
            ({"base": "/etc"}, "not one this service may load"),
            ({"states": ["organism+edit:none-such"]}, "none-such"),
            ({"states": ["+edit:none-such"]}, "none-such"),
            ({"states": ["organism+adapter:/etc"]}, "/etc"),
            ({"states": ["+9bit"]}, "no change of a state"),
            ({"states": []}, "states"),
            ({"states": ["+finetune:/etc/hostname"]}, "not in a folder that this service may read"),
            ({"states": ["+finetune:../notes.txt:steps=3"]}, "not in a folder that this service"),
            ({"states": ["endpoint:http://169.254.169.254/v1#m"]}, "169.254.169.254"),
            ({"states": [{"model": "m", "endpoint": "file:///etc/passwd"}]}, "http"),
            ({"forget": ["Draco Malfoy"]}, "names no fact"),
            ({"forget": [_FACT.replace("Draco", "Drako")]}, "Dr"),
            ({"rewrites": ["none-such"]}, "none-such"),
            ({"graph": "none-such"}, "none-such"),
            ({"afterwards": 1}, "afterwards"),
            ({"implications": True}, "nothing is requested"),
            ({"implications": True, "forget": [_FACT]}, "no kept rules"),
        ),
        ("changed", "state,fact,subject,relation,object", "Ada lived in London"),
        "Of 7 facts that ab knows, 4 are kept",
    ),
    "depedit": Sample(
        protocol,
        {"strategies": ["base"]},
        {"strategies": ["random"]},
        (
            ({"strategies": ["none-such"]}, "none-such"),
            ({"sets": ["none-such"]}, "none-such"),
            ({"model": "/etc"}, "not one this service may load"),
        ),
        ("specificity", "", ""),
        "2 runs of the establish-and-update protocol on 1 knowledge set.",
    ),
}


def store_sample(db: Database, kind: str, id: str, graph: str, edits: list[str]) -> Any:
    """Store a result of this id without a job, as a command leaves it; return it as it is read."""
    if kind == EDIT.name:
        store_edit(db, id, random_facts(7), dataset=graph)
        return EDIT.store.find(db, id)
    if kind == SWEEP.name:
        request = SweepIn(graph=graph, methods=["rome"], rewrites=["the-rewrite"])
        db.write(
            bool, "jobs/merge_sweep", id=id, request=request.model_dump_json(), posted_as=edits
        )
        return SWEEP.store.find(db, id)
    made = SAMPLES[kind].result
    assert made is not None
    out = made(id, graph, edits)
    store_result(db, kind, out, edits)
    return out


def store_result(db: Database, kind: str, out: Result, edits: list[str]) -> None:
    """Store a result; of a comparison with the graphs of its states."""
    graphs = [each.id for each in out.states] if isinstance(out, ComparisonOut) else []
    store.save(db, kind, out, edits=edits, graphs=graphs)


def delete_result(db: Database, id: str) -> None:
    """Delete the record of a result of any kind; its edits and graphs stay."""
    db.write(rows.DeleteExperimentRow, "experiments/delete", id=id)
    db.write(rows.DeleteEditRow, "edits/delete_edit", id=id)
    db.write(int, "jobs/delete_sweep", id=id)
