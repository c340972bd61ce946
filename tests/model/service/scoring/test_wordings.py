"""Each wording that exists, against one probe a wording; a wording that does not exist."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.tiny_models import build_tiny
from thinkeval.editing import models
from thinkeval.editing.probe import ProbeItem, ProbeSettings, probe
from thinkeval.loaders.records import Fact
from thinkeval.service.scoring import probe as wordings
from thinkeval.service.scoring.probe import questions_for

TEMPLATE = "{% for m in messages %}User: {{ m['content'] }} Assistant:{% endfor %}"
FACTS = [
    Fact(
        "Harry Potter", "studied at", "Hogwarts", "{} studied at",
        questions=("Where did Harry Potter study?",), paraphrases=("{} went to", "{} was at"),
    ),
    Fact("Ron Weasley", "lived at", "The Burrow", "{} lived at"),
]  # fmt: skip
SETTINGS = ProbeSettings(measures=("likelihood",))


def one(loaded: models.LoadedModel, item: ProbeItem, **changes: str) -> float:
    (found,) = probe(loaded, [item], replace(SETTINGS, **changes))  # type: ignore[arg-type]
    assert found.likelihood is not None
    return found.likelihood


def test_each_wording_is_the_probe_that_asks_so() -> None:
    model, tokenizer = build_tiny("llama", seed=3)
    tokenizer.chat_template = TEMPLATE
    loaded = models.wrap(model, tokenizer, name="tiny")
    found = wordings.likelihoods(loaded, questions_for(FACTS, {}), SETTINGS)
    assert set(found) == set(wordings.WORDINGS)
    harry = ProbeItem("h", "Harry Potter studied at", "Hogwarts", FACTS[0].question)
    ron = ProbeItem("r", "Ron Weasley lived at", "The Burrow")
    for wording in (w for w in wordings.WORDINGS if w is not wordings.PARAPHRASES):
        how = {"ask": wording.ask, "chat": "always" if wording.chat else "never"}
        lacks = wording.ask == "question"
        expected = [one(loaded, harry, **how), None if lacks else one(loaded, ron, **how)]
        assert found[wording] == [
            None if e is None else pytest.approx(e, rel=1e-4, abs=1e-12) for e in expected
        ]
    others = [replace(harry, prompt=f"Harry Potter {verb}") for verb in ("went to", "was at")]
    mean = sum(one(loaded, other, chat="never") for other in others) / 2
    assert found[wordings.PARAPHRASES] == [pytest.approx(mean, rel=1e-4, abs=1e-12), None]


@pytest.mark.parametrize("template", [None, "{{ raise_exception('no user turns') }}"])
def test_a_wording_that_the_model_cannot_be_asked_in_is_left_out(template: str | None) -> None:
    model, tokenizer = build_tiny("llama", seed=3)
    tokenizer.chat_template = template
    loaded = models.wrap(model, tokenizer, name="tiny")
    found = wordings.likelihoods(loaded, questions_for(FACTS[1:], {}), SETTINGS)
    assert set(found) == {wordings.CLOZE}
    assert wordings.wording_of(loaded, replace(SETTINGS, chat="never")) is wordings.CLOZE
