"""Made-up comparisons of one state and of several, for what only shows one."""

from __future__ import annotations

from typing import Any

from thinkeval.cypher.rows.chains import Link
from thinkeval.cypher.rows.states import ChangedFact, MovedRoute, RevivedLink
from thinkeval.service.models.edit import (
    DriftLine,
    DriftOut,
    KnownDrift,
    MetricValue,
    SideEffects,
)
from thinkeval.service.states.schemas import (
    ComparedRequest,
    ComparisonIn,
    ComparisonOut,
    Reopened,
    Retention,
    RoutesOut,
    StateComparison,
    StateOut,
    Wording,
)


def line(label: str, moved: float = 0.2) -> DriftLine:
    """Ten facts, of which one has no probability after the change."""
    return DriftLine(
        label=label, n=9, missing=1, kept=4, weakened=2, lost=1, added=1, unknown=1,
        mean_moved=moved, mean_shift=-moved / 2,
    )  # fmt: skip


CHANGED = [
    ChangedFact(
        fact="f1", subject="Ada", relation="lived-in", object="London", prompt="{} lived in",
        before=0.9, after=0.01, change="replaced", says_before="London", says_after="Paris",
    ),
    ChangedFact(
        fact="f2", subject="Charles", relation="knew", object="Ada", prompt="{} knew",
        before=0.8, after=0.3, change="weakened", says_before=None, says_after=None,
    ),
    ChangedFact(
        fact="f3", subject="Paris", relation="is-in", object="France", prompt="{} is in",
        before=0.7, after=0.5, change="weakened", says_before=None, says_after=None,
    ),
    ChangedFact(
        fact="f4", subject="Bob", relation="knew", object="Ada", prompt="{} knew",
        before=0.01, after=0.1, change="added", says_before=None, says_after=None,
    ),
]  # fmt: skip


def _closed() -> MovedRoute:
    """Ada knew Charles, who lived in London."""
    links = [
        Link("g|1", "Ada", "knew", "Charles", "{} knew", None, 0.9, 0.1, None),
        Link("g|2", "Charles", "lived-in", "London", "{} lived in", None, 0.9, 0.05, None),
    ]
    return MovedRoute(r_pre=0.81, r_post=0.005, links=links)


def known_facts(n: int, kept: int, median: float) -> SideEffects:
    """The change of so many known facts at 2 steps and more, and of none nearer."""
    far = DriftLine(
        label="2 steps and more", n=n, missing=0, kept=kept, weakened=0, lost=n - kept, added=0,
        unknown=0, mean_moved=0.1, mean_shift=-0.1, median_change=median,
    )  # fmt: skip
    drift = KnownDrift(total=far, far=far, by_distance=[far], excluded=0, unasked=0)
    return SideEffects(reason="no texts", drift=drift, drift_reason=None)


def worded(before: float = 0.9, after: float = 0.001, **others: float | None) -> list[Wording]:
    """The old object in the cloze, and in the three other wordings; `others` are those after."""
    forms = {"question/0-shot": 0.001, "question/3-shot": 0.001, "paraphrase/0-shot": 0.001}
    given = {name.replace("_", "/", 1).replace("_", "-"): p for name, p in others.items()}
    found: dict[str, float | None] = {"cloze/0-shot": after, **forms, **given}
    return [
        Wording(
            form=form, measure="likelihood", before=None if p is None else before, after=p,
            reason="the fact has none" if p is None else None,
        )
        for form, p in found.items()
    ]  # fmt: skip


def state(id: str = "compare-it", edit: str = "e") -> StateComparison:
    """A replaced object and a forgotten fact between a base and a state; drift of 15 relations."""
    values = {"ifr": 0.25, "efficacy": 0.9, "forgetting": 0.8, "leak_at_100": 1.0}
    measured = [
        MetricValue(metric=name, measure="likelihood", value=value, n=3)
        for name, value in values.items()
    ]
    routes = RoutesOut(
        chains=9, before=7, after=4, opened=1, closed=4, floor=0.01, known=0.0, moved=[_closed()]
    )
    requests = [
        ComparedRequest(
            kind="replace" if new else "forget", rewrite=f"r{new}", subject="Ada",
            relation="lived-in", prompt="{} lived in", target_true="London", target_new=new,
            edit=edit, values=measured, routes={"likelihood": routes},
        )
        for new in ("Paris", "")
    ]  # fmt: skip
    drift = DriftOut(
        total=line("all facts"),
        by_distance=[line("0 steps: facts with the subject at one end"), line("1 step")],
        by_relation=[line(f"relation {n}", 1 / (n + 2)) for n in range(15)],
    )
    return StateComparison(
        id=id, spec="cd", measures=["likelihood"], requests=requests, notes=["A note."],
        before=StateOut(spec="ab", name="ab", kind="model", digest="ab" * 32),
        after=StateOut(
            spec="cd", name="cd", kind="adapter", digest="cd" * 32, about={"dtype": "float32"}
        ),
        drift={"likelihood": drift},
        changed={"likelihood": CHANGED},
        verdict="It leaks: so it is.", side_effects=known_facts(10, 9, 0.99),
    )  # fmt: skip


def comparison(id: str = "compare-it", graph: str = "g", edit: str = "e") -> ComparisonOut:
    """A base and one state."""
    return _stored(id, graph, [state(id, edit)], ["cd"])


def _stored(id: str, graph: str, states: list[StateComparison], words: list[Any]) -> ComparisonOut:
    asked = ComparisonIn(base="ab", states=words, graph=graph)  # type: ignore[arg-type]
    return ComparisonOut(
        id=id, graph=graph, states=states, n_facts=10, notes=["A note."],
        request=asked.model_dump(mode="json"), created_at="2026-11-23T08:00:00+00:00",
    )  # fmt: skip


LATER = (("+edit:e", 1.0, 0), ("+8bit", 0.98, 0), ("+finetune:graph:steps=200", 0.4, 1))
"""Each state of `sequence`, its retention, and how many of three closed chains are open again."""


def sequence(id: str = "compare-them", graph: str = "g", edit: str = "e") -> ComparisonOut:
    """An edit that was quantised and then fine-tuned, by which one chain is open again."""
    fact = RevivedLink(
        subject="Ada", relation="knows", object="Bob", prompt="{} knows",
        base=0.9, edited=0.1, later=0.8,
    )  # fmt: skip
    states = []
    for place, (spec, retention, opened) in enumerate(LATER):
        chain: dict[str, Any] = (
            {"facts": [fact], "base": 0.9, "edited": 0.001, "later": 0.8} if opened else {}
        )
        kept = Retention(
            retention=retention, change=0.9 * retention, target_true=0.1,
            reopened=Reopened(closed=3, opened=opened, **chain),
        )  # fmt: skip
        one = state(f"{id}-{place}", edit)
        request = one.requests[0].model_copy(update={"retention": {"likelihood": kept}})
        after = one.after.model_copy(update={"name": f"ab{spec}"})
        states.append(one.model_copy(update={"spec": spec, "requests": [request], "after": after}))
    return _stored(id, graph, states, [spec for spec, _, _ in LATER])


def watched(out: ComparisonOut) -> ComparisonOut:
    """The comparison without requests: the graph was watched."""
    states = [each.model_copy(update={"requests": []}) for each in out.states]
    return out.model_copy(update={"id": f"{out.id}-watched", "states": states})
