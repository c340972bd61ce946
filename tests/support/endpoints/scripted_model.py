"""An endpoint that answers from a table of facts: deterministic, counted, and stopped at will.

It understands the prompts of service/growth/prompts by their data, not by their words, so it proves
nothing about the prompts' quality: only what the loop does with answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from thinkeval.service.growth.endpoint import Reply, Request

PART = 3
"""Answers that come together."""
DATA = re.compile(r"<<<\n(.*?)\n>>>", re.DOTALL)
Fact = tuple[str, str, str]

SCHOOL: tuple[Fact, ...] = (
    ("Harry Potter", "studied at", "Hogwarts"),
    ("Harry Potter", "was sorted into", "Gryffindor"),
    ("Harry Potter", "was a friend of", "Ron Weasley"),
    ("Gryffindor", "is a house at", "Hogwarts"),
    ("Ron Weasley", "was sorted into", "Gryffindor"),
    ("Ron Weasley", "is a sibling of", "Ginny Weasley"),
    ("Ginny Weasley", "studied at", "Hogwarts"),
)


class Stopped(BaseException):
    """The process would have been killed here."""


class ScriptedModel:
    """A model that knows some facts.

    Args:
        facts: those that it knows.
        told: what it says in reasoning besides them.
        stop_at: raise Stopped once so many requests were answered.

    Attributes:
        asked: all requests, in order.
    """

    def __init__(
        self,
        facts: Sequence[Fact] = SCHOOL,
        *,
        told: Sequence[Fact] = (),
        model: str = "scripted",
        chat: bool = True,
        stop_at: int | None = None,
    ) -> None:
        self.facts, self.told, self.stop_at = list(facts), list(told), stop_at
        self.model, self.id, self.chat = model, f"{model}@test", chat
        self.asked: list[Request] = []
        self.closed = False

    def ask(self, requests: Sequence[Request]) -> Iterator[list[tuple[int, Reply]]]:
        for start in range(0, len(requests), PART):
            part = []
            for place in range(start, min(start + PART, len(requests))):
                if self.stop_at is not None and len(self.asked) >= self.stop_at:
                    yield part
                    raise Stopped
                self.asked.append(requests[place])
                text = self.answer(requests[place])
                part.append((place, Reply(text, "stop", 0.01, 10, len(text.split()))))
            yield part

    def close(self) -> None:
        self.closed = True

    def answer(self, request: Request) -> str:
        """Return the answer to the last turn."""
        text = request.messages[-1].text
        if request.kind == "cot":
            return self.reason(text)
        if request.kind == "extract":
            return json.dumps({"triplets": self.extract(text)})
        if request.kind == "chain":
            return self.follow(text)
        if request.kind == "same":
            return "No."
        if "Give JSON" in text:
            return self.write(text)
        return self.recall(text)

    def recall(self, text: str) -> str:
        for subject, relation, object in self.facts:
            if subject in text.split(" | ")[0] and relation in text:
                return f"{object}."
        return "I have no idea."

    def reason(self, text: str) -> str:
        question = text.rsplit("Question: ", 1)[1]
        told = [*self.facts, *self.told]
        about = {o for s, r, o in self.facts if s in question and r in question}
        known = [f for f in told if f[0] in question or f[0] in about]
        return "\n".join(f"{n}. {' '.join(fact)}." for n, fact in enumerate(known, 1))

    def extract(self, text: str) -> list[dict[str, str]]:
        statement = DATA.findall(text)[-1]
        return [
            {"subject": s, "relation": r, "object": o}
            for s, r, o in [*self.facts, *self.told]
            if f"{s} {r} {o}" in statement
        ]

    def follow(self, text: str) -> str:
        found = re.search(r"Begin with (.*?)\. Then .*: (.*)\. Which", text, re.DOTALL)
        assert found is not None
        at, relations = found.group(1), found.group(2).replace("\n", " ").split(" → ")
        for relation in relations:
            at = next((o for s, r, o in self.facts if (s, r) == (at, relation)), "nothing")
        return f"{at}."

    def write(self, text: str) -> str:
        (data,) = DATA.findall(text)
        if '"paraphrases"' in text:
            subject = next((s for s, *_ in self.facts if data.startswith(s)), "")
            rest = data.removeprefix(subject).strip()
            return json.dumps({"paraphrases": [f"As told, {subject} {rest}", "Nothing of it"]})
        if '"sentence"' in text:
            subject, relation, _ = data.split(" | ")
            question = f"What is it that {subject} {relation}?"
            return json.dumps({"question": question, "sentence": f"{subject} {relation}"})
        fact = data.splitlines()[0].removeprefix("Fact: ").split(" | ")
        n = data.count("Question: ")
        return json.dumps({"question": f"Try {n}: {fact[0]} {fact[1]} what?"})
