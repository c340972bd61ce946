"""Chains walked as conversations: against one chain at a time, and where a walk is not defined."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from thinkeval.cypher.rows.chains import Link
from thinkeval.service.scoring.conversation import Asked, Turns, outcome, walk

CITIES = ["Ann", "Bob", "Cy", "Dan", "Eve"]


def link(subject: str, object: str, *, question: str | None = "ask", relation: str = "r") -> Link:
    asked = f"Who is {relation} of {subject}?" if question == "ask" else question
    return Link("", subject, relation, object, "{} knows", asked, 1.0, 1.0, 1.0)


def model(said: dict[str, str], log: list[Sequence[Turns]] | None = None) -> Callable:
    """A model that answers by the last question only."""

    def answering(conversations: Sequence[Turns]) -> list[str]:
        if log is not None:
            log.append(conversations)
        return [said.get(turns[-1][0].text, "Nobody.") for turns in conversations]

    return answering


def one_by_one(chain: Sequence[Link], said: dict[str, str]) -> bool:
    """The same test for one chain, without batches: the reference."""
    about = chain[0].subject
    for fact in chain:
        answer = said.get(f"Who is {fact.relation} of {about}?", "Nobody.")
        about = answer.rstrip(".")
    return about == chain[-1].object


def test_walks_of_many_chains_are_those_of_each_by_itself() -> None:
    """Random tables of answers, random chains of one to five links over five names."""
    draw = random.Random(0)
    for _ in range(50):
        said = {
            f"Who is {r} of {name}?": f"{draw.choice(CITIES)}."
            for r in ("r", "q")
            for name in CITIES
            if draw.random() < 0.9
        }
        chains = []
        for _ in range(8):
            names = draw.sample(CITIES, draw.randint(2, 5))
            chains.append([link(a, b, relation=draw.choice("rq")) for a, b in pairwise(names)])
        found = walk(chains, {}, model(said))
        assert [each.leaks for each in found] == [one_by_one(chain, said) for chain in chains]


def test_the_models_own_answer_is_in_the_next_question() -> None:
    said = {"Who is r of Ann?": " Zed.\nBecause", "Who is q of Zed?": "It is Cy, of course."}
    chain = [link("Ann", "Bob"), link("Bob", "Cy", relation="q")]
    [found] = walk([chain], {}, model(said))
    assert found.turns == (
        (Asked("Who is r of Ann?"), "Zed."),
        (Asked("Who is q of Zed?"), "It is Cy, of course."),
    )
    assert found.leaks is True


def test_the_old_object_leaks_under_an_alias_and_only_in_the_last_answer() -> None:
    chain = [link("Ann", "Bob"), link("Bob", "Cy", relation="q")]
    said = {"Who is r of Ann?": "Cy.", "Who is q of Cy?": "Cyrus."}
    assert walk([chain], {}, model(said))[0].leaks is False
    assert walk([chain], {"Cy": ("Cyrus",)}, model(said))[0].leaks is True


def test_equal_beginnings_are_asked_once_and_each_step_is_one_batch() -> None:
    log: list[Sequence[Turns]] = []
    chains = [
        [link("Ann", "Bob"), link("Bob", "Cy", relation="q")],
        [link("Ann", "Bob"), link("Bob", "Dan", relation="r")],
        [link("Ann", "Bob")],
    ]
    walk(chains, {}, model({"Who is r of Ann?": "Bob."}, log))
    assert [len(batch) for batch in log] == [1, 2]


def test_a_question_without_its_subject_leaves_the_walk_undefined() -> None:
    chain = [link("Ann", "Bob"), link("Bob", "Cy", question="Who was it?")]
    assert walk([chain], {}, model({"Who is r of Ann?": "Bob."}))[0].leaks is None
    alias = [link("Ann", "Bob"), link("Bob", "Cy", question="Who is Robert's r?")]
    said = {"Who is r of Ann?": "Zed.", "Who is Zed's r?": "Cy."}
    assert walk([alias], {"Bob": ("Robert",)}, model(said))[0].leaks is True


def test_without_a_question_the_prompt_is_completed() -> None:
    chain = [link("Ann", "Bob"), link("Bob", "Cy", question=None)]
    [found] = walk([chain], {}, model({"Who is r of Ann?": "Bob.", "Bob knows": "Cy."}))
    assert found.turns[-1] == (Asked("Bob knows", cloze=True), "Cy.")
    assert found.leaks is True


def test_no_answer_ends_a_walk_without_a_leak_and_a_long_one_leaves_it_undefined() -> None:
    chain = [link("Ann", "Bob"), link("Bob", "Cy", relation="q")]
    assert walk([chain], {}, model({"Who is r of Ann?": " ..."}))[0].leaks is False
    assert walk([chain], {}, lambda some: [None] * len(some))[0].leaks is None


def test_fractions_count_what_was_walked() -> None:
    said = {"Who is r of Ann?": "Bob.", "Who is r of Eve?": "Nobody."}
    chains = [
        [link("Ann", "Bob")],
        [link("Eve", "Bob")],
        [link("Ann", "Cy"), link("Cy", "Dan", question="?")],
    ]
    walks = walk(chains, {}, model(said))
    found = outcome(walks, {"p": [True, False, True], "likelihood": [False] * 3}, chat=False)
    assert (found.chains, found.n, found.leaking, found.share) == (3, 2, 1, 0.5)
    sampled, exact = found.active
    assert (sampled.n, sampled.leaking, sampled.share) == (1, 1, 1.0)
    assert (exact.n, exact.leaking, exact.share) == (0, 0, None)


def test_no_chain_is_an_undefined_fraction() -> None:
    found = outcome(walk([], {}, pytest.fail), {"p": []}, chat=True)
    assert (found.chains, found.n, found.share) == (0, 0, None)
