"""A rewrite with the questions of its data set: both models answer, as plain transformers do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from support.scored_walk import Walk, walked
from thinkeval.editing.deltas import applied
from thinkeval.editing.deltas.files import load
from thinkeval.loaders.records import Check
from thinkeval.service.reports import checks as reports
from thinkeval.service.scoring import checks, deltas
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

CLOZE = "Harry Potter studied at"


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 11) as walk:
        yield walk


def test_both_models_answer_as_plain_transformers_do(walk: Walk) -> None:
    new = walk.rewrite.target_new
    asked = (
        Check("efficacy", CLOZE, (new,), old_answers=(walk.rewrite.target_true,)),
        Check("efficacy", "Ron Weasley studied at", (new,), group="ron"),
        Check("other", "Dobby is", ("nobody",), conditions=(Check("c", CLOZE, ("nowhere",)),)),
    )
    before = walk.digest()
    score = walk.score("rome", rewrite=replace(walk.rewrite, checks=asked), samples=0)
    assert walk.digest() == before
    found = {row.criterion: row for row in score.checks}
    assert (found["other"].items, found["other"].left_out) == (0, 1)
    assert (found["efficacy"].items, found["efficacy"].n) == (2, 2)
    loaded = walk.model.loaded
    with applied(loaded.model, load(deltas.find(walk.runtime, score.edit)).effect):
        after = plain_answer(loaded, CLOZE)
    (first, _) = found["efficacy"].answers
    assert first.before.startswith(plain_answer(loaded, CLOZE)[:20])
    assert first.after.startswith(after[:20])
    assert found["efficacy"].right == 0.5 * (new in after) + 0.5 * (
        new in found["efficacy"].answers[1].after
    )
    assert walk.score("rome", rewrite=replace(walk.rewrite, checks=asked), samples=0).reused
    assert not walk.score("rome", samples=0).checks


def test_truth_ratios_are_those_of_plain_transformers(walk: Walk) -> None:
    right, wrong = walk.rewrite.target_true, (walk.rewrite.target_new, "Durmstrang Institute")
    rated = Check("truth_ratio", CLOZE, (right,), wrong=wrong)
    asked = (rated, Check("truth_ratio", CLOZE, (right,)), Check("answer", CLOZE, (right,)))
    score = walk.score("rome", rewrite=replace(walk.rewrite, checks=asked), samples=0)
    (found,) = reports.forget_quality(walk.runtime.db, [score])
    assert (found.asked, found.n) == (2, 1)
    loaded = walk.model.loaded
    before = plain_ratio(loaded, right, wrong)
    with applied(loaded.model, load(deltas.find(walk.runtime, score.edit)).effect):
        after = plain_ratio(loaded, right, wrong)
    assert found.ratio_pre == pytest.approx(before, rel=1e-4)
    assert found.ratio == pytest.approx(after, rel=1e-4)
    assert after > before


def plain_ratio(loaded: Any, right: str, wrong: Sequence[str]) -> float:
    """Mean P^(1 / tokens) of the false answers over that of the right one, without our probe."""
    import torch

    from thinkeval.service.forms import examples

    text = "\n\n".join((*examples.clozes((), checks.EXAMPLES), CLOZE))
    prompt = loaded.tokenizer(text)["input_ids"]

    def normed(name: str) -> float:
        answer = loaded.tokenizer(f"{text} {name}")["input_ids"][len(prompt) :]
        with torch.no_grad():
            logits = loaded.model(torch.tensor([[*prompt, *answer]])).logits[0].double()
        logs = logits.log_softmax(-1)
        places = range(len(prompt) - 1, len(prompt) + len(answer) - 1)
        picked = [logs[i, token] for i, token in zip(places, answer, strict=True)]
        return float(torch.stack(picked).mean().exp())

    return sum(map(normed, wrong)) / len(wrong) / normed(right)


def plain_answer(loaded: Any, prompt: str) -> str:
    """The greedy reply of transformers behind the same examples, up to its line's end."""
    from thinkeval.service.forms import examples

    text = "\n\n".join((*examples.clozes((), checks.EXAMPLES), prompt))
    inputs = loaded.tokenizer(text, return_tensors="pt")
    made = loaded.model.generate(
        **inputs, do_sample=False, max_new_tokens=checks.MAX_TOKENS, pad_token_id=0
    )
    reply = loaded.tokenizer.decode(made[0, inputs["input_ids"].shape[1] :])
    return reply.strip().split("\n")[0]
