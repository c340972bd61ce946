"""A made-up line of states, for what only shows one."""

from __future__ import annotations

from thinkeval.service.lasting.schemas import (
    ChainFact,
    LastingIn,
    LastingOut,
    LineState,
    Reopened,
    StateNumbers,
)


def numbers(retention: float | None, opened: int) -> StateNumbers:
    """A state with so many of three closed chains open again."""
    facts = [
        ChainFact(
            subject="Ada", relation="knows", object="Bob", prompt="{} knows",
            base=0.9, edited=0.1, later=0.8,
        )
    ]  # fmt: skip
    products = {"base": 0.9, "edited": 0.001, "later": 0.8}
    again = {"facts": facts, **products} if opened else {}
    return StateNumbers(
        retention=retention, change=retention, target_true=0.1, ifr=0.5 + 0.1 * opened, chains=9,
        preservation=0.9, facts=12, open=6 + opened, floor=0.01,
        reopened=Reopened.model_validate({"closed": 3, "opened": opened, **again}),
    )  # fmt: skip


def states_line(
    id: str = "lasting-it", graph: str = "g", edit: str = "e", comparison: str = "compare-it"
) -> LastingOut:
    """An edit that was quantised and then fine-tuned, by which one chain is open again."""
    states = [
        LineState(
            change=change, state="ab", name="ab", digest="ab" * 32, comparison=comparison,
            edit=edit, numbers={"likelihood": numbers(retention, opened)},
        )
        for change, retention, opened in (
            (edit, 1.0, 0), ("8bit", 0.98, 0), ("finetune:graph:steps=200", 0.4, 1),
        )
    ]  # fmt: skip
    asked = LastingIn(edit=edit, then=[state.change for state in states[1:]], graph=graph)
    return LastingOut(
        id=id, graph=graph, edit=edit, method="rome", kind="replace", rewrite="r",
        subject="Ada", prompt="{} lived in", target_true="London", target_new="Paris", base="ab",
        measures=["likelihood"], states=states, first={"likelihood": 2}, notes=["A note."],
        request=asked.model_dump(mode="json"), created_at="2026-11-23T08:00:00+00:00",
    )  # fmt: skip
