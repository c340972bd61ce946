"""A made-up comparison of two states, for what only shows one."""

from __future__ import annotations

from thinkeval.service.schemas import MetricValue
from thinkeval.service.states.opened import StateOut
from thinkeval.service.states.schemas import (
    ComparedRequest,
    ComparisonIn,
    ComparisonOut,
    DriftLine,
    DriftOut,
    RoutesOut,
)
from thinkeval.service.states.words import StateIn


def line(label: str, moved: float = 0.2) -> DriftLine:
    """Ten facts, of which one has no probability after the change."""
    return DriftLine(
        label=label, n=9, missing=1, kept=4, weakened=2, removed=1, added=1, unknown=1,
        mean_moved=moved, mean_shift=-moved / 2,
    )  # fmt: skip


def comparison(id: str = "compare-it", graph: str = "g", edit: str = "e") -> ComparisonOut:
    """A replaced object and a forgotten fact between two states, drift over many relations."""
    values = {"ifr": 0.25, "efficacy": 0.9, "forgetting": 0.8, "leak_at_100": 1.0}
    measured = [
        MetricValue(metric=name, measure="likelihood", value=value, n=3)
        for name, value in values.items()
    ]
    routes = RoutesOut(chains=9, before=7, after=4, opened=1, closed=4, floor=0.01)
    requests = [
        ComparedRequest(
            kind="replace" if new else "forget", rewrite=f"r{new}", subject="Ada",
            relation="lived-in", prompt="{} lived in", target_true="London", target_new=new,
            edit=edit, values=measured, routes={"likelihood": routes},
        )
        for new in ("Paris", "")
    ]  # fmt: skip
    before = StateOut(word="ab", name="ab", kind="model", digest="ab" * 32)
    after = StateOut(
        word="cd", name="cd", kind="adapter", digest="cd" * 32, about={"dtype": "float32"}
    )
    drift = DriftOut(
        total=line("all facts"),
        by_distance=[line("0 steps: facts with the subject at one end"), line("1 step")],
        by_relation=[line(f"relation {n}", 1 / (n + 2)) for n in range(15)],
    )
    asked = ComparisonIn(before=StateIn(model="ab"), after=StateIn(model="cd"), graph=graph)
    return ComparisonOut(
        id=id, graph=graph, before=before, after=after, measures=["likelihood"],
        n_facts=10, requests=requests, drift={"likelihood": drift}, notes=["A note."],
        request=asked.model_dump(mode="json"), created_at="2026-11-23T08:00:00+00:00",
    )  # fmt: skip
