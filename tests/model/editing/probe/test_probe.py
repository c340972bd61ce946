"""Questions of the probe: settings, clozes, chat templates, paraphrases, prompt changes."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from support.tiny_models import build_tiny
from thinkeval.editing.errors import ProbeError
from thinkeval.editing.models import LoadedModel, wrap
from thinkeval.editing.probe import MEASURES, ProbeItem, ProbeSettings, probe
from thinkeval.editing.probe.prompts import (
    CHAT_CLOZE,
    CHAT_QUESTION,
    Renderer,
    answer_ids,
    prompt_ids,
)

TEMPLATE = (
    "<|begin|>{% for m in messages %}[{{ m.role }}]{{ m.content }}<|endoftext|>{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
ITEM = ProbeItem(
    "school",
    "Harry Potter studied at",
    "Hogwarts",
    question="Where did Harry Potter study?",
    paraphrases=("Harry Potter went to school at", "The school of Harry Potter is"),
    aliases=("Hogwarts Castle", "Hogwarts", " ", ""),
)
OTHER = ProbeItem("mother", "The mother of Harry Potter is", "Lily Evans", paraphrases=("A",))
FAST = ProbeSettings(samples=2, max_new_tokens=4)


@pytest.fixture(params=["gpt2", "llama"])
def loaded(request: pytest.FixtureRequest) -> LoadedModel:
    return wrap(*build_tiny(request.param), name=request.param)


@pytest.fixture
def chatty() -> Any:
    """A tokenizer that puts a BOS before plain text, with a chat template that writes its own."""
    _, tokenizer = build_tiny("llama")
    tokenizer.chat_template = TEMPLATE
    return tokenizer


# --- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        {"samples": 0},
        {"max_new_tokens": 0},
        {"temperature": 0.0},
        {"temperature": float("nan")},
        {"batch_tokens": 0},
        {"ask": "nicely"},
        {"chat": "yes"},
        {"measures": ()},
        {"measures": ("p", "perplexity")},
    ],
)
def test_settings_refuse_what_cannot_be_asked(bad: dict[str, Any]):
    with pytest.raises(ProbeError, match=f"setting {next(iter(bad))} is") as caught:
        ProbeSettings(**bad)
    assert next(iter(bad)) in caught.value.remedy


def test_settings_go_through_json():
    settings = ProbeSettings(samples=7, measures=("likelihood", "p"), ask="question")
    back = json.loads(json.dumps(settings.as_dict()))
    back["measures"] = tuple(back["measures"])
    assert ProbeSettings(**back) == settings


def test_digest_changes_with_everything_that_changes_a_result():
    changed = {
        "samples": 6,
        "ask": "question",
        "measures": ("p",),
        "max_new_tokens": 17,
        "temperature": 0.9,
        "seed": 1,
        "paraphrases": True,
        "chat": "never",
    }
    base = ProbeSettings()
    digests = {dataclasses.replace(base, **{k: v}).digest for k, v in changed.items()}
    assert len(digests | {base.digest}) == len(changed) + 1
    assert set(changed) | {"batch_tokens"} == {f.name for f in dataclasses.fields(ProbeSettings)}
    assert dataclasses.replace(base, batch_tokens=99).digest == base.digest
    assert dataclasses.replace(base, measures=MEASURES[::-1]).digest == base.digest


# --- what is asked ---------------------------------------------------------------------------


def test_a_question_without_chat_template(loaded: LoadedModel):
    text = Renderer(loaded.tokenizer, "auto").question("Where did Harry Potter study?")
    assert text.text == "Question: Where did Harry Potter study? Answer:"
    assert text.lead is None  # of the text and the answer
    asked = probe(loaded, [ITEM], dataclasses.replace(FAST, ask="question"))
    plain = dataclasses.replace(ITEM, prompt=text.text)
    assert asked == probe(loaded, [plain], FAST)


def test_white_space_at_the_end_of_a_cloze_does_not_matter(loaded: LoadedModel):
    spaced = dataclasses.replace(ITEM, prompt=ITEM.prompt + "  ")
    assert probe(loaded, [spaced], FAST) == probe(loaded, [ITEM], FAST)


def test_blank_and_repeated_aliases_change_nothing(loaded: LoadedModel):
    clean = dataclasses.replace(ITEM, aliases=("Hogwarts Castle",))
    assert probe(loaded, [clean], FAST) == probe(loaded, [ITEM], FAST)


def test_prompt_and_answer_are_the_tokens_of_the_whole_text(loaded: LoadedModel):
    tokenizer = loaded.tokenizer
    rendered = Renderer(tokenizer, "never").cloze("Zoë met")
    prompt = prompt_ids(tokenizer, rendered)
    answer = answer_ids(tokenizer, rendered, prompt, "Łódź's Apple Inc.")
    assert prompt + answer == tokenizer("Zoë met Łódź's Apple Inc.")["input_ids"]
    assert tokenizer.decode(answer) == " Łódź's Apple Inc."


def test_a_tokenizer_that_ends_every_text_does_not_end_the_prompt():
    from tokenizers import processors

    _, tokenizer = build_tiny("llama")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<|begin|> $A <|endoftext|>",
        special_tokens=[("<|begin|>", 1), ("<|endoftext|>", 0)],
    )
    assert tokenizer("Harry")["input_ids"][-1] == 0
    rendered = Renderer(tokenizer, "never").cloze("Harry met")
    prompt = prompt_ids(tokenizer, rendered)
    assert tokenizer.decode(prompt) == "<|begin|>Harry met"
    assert tokenizer.decode(answer_ids(tokenizer, rendered, prompt, "Ron")) == " Ron"


def test_names_whose_border_is_no_token_border_are_tokenised_alone():
    """Without a space between them, a byte-level tokenizer may join prompt and name."""
    _, tokenizer = build_tiny("gpt2")
    rendered = dataclasses.replace(Renderer(tokenizer, "never").cloze("at Hog"), lead="")
    prompt = prompt_ids(tokenizer, rendered)
    joint = tokenizer("at Hogwarts")["input_ids"]
    assert joint[: len(prompt)] != prompt  # " Hogwarts" is one token
    answer = answer_ids(tokenizer, rendered, prompt, "warts")
    assert answer == tokenizer("warts", add_special_tokens=False)["input_ids"]


# --- chat ------------------------------------------------------------------------------------


def test_chat_template_is_used_when_there_is_one(chatty: Any):
    asked = Renderer(chatty, "auto").question("Who?")
    turn = CHAT_QUESTION.replace("{question}", "Who?")
    assert asked.text == f"<|begin|>[user]{turn}<|endoftext|>[assistant]"
    assert asked.lead == ""
    ids = prompt_ids(chatty, asked)
    assert ids.count(1) == 1  # one BOS: the template's own
    cloze = Renderer(chatty, "always").cloze("He met ")
    assert CHAT_CLOZE.replace("{cloze}", "He met") in cloze.text
    assert chatty.decode(answer_ids(chatty, cloze, prompt_ids(chatty, cloze), "Ron")) == "Ron"


def test_chat_can_be_turned_off_and_cannot_be_forced(chatty: Any, loaded: LoadedModel):
    assert Renderer(chatty, "never").cloze("He met").text == "He met"
    with pytest.raises(ProbeError, match="no chat template"):
        Renderer(loaded.tokenizer, "always")


def test_a_chat_probe_end_to_end(chatty: Any):
    model, plain = build_tiny("llama")
    settings = dataclasses.replace(FAST, ask="question")
    (chat,) = probe(wrap(model, chatty, name="chat"), [ITEM], settings)
    (bare,) = probe(wrap(model, plain, name="bare"), [ITEM], settings)
    assert chat.likelihood is not None
    assert bare.likelihood is not None
    assert 0 < chat.likelihood < 1
    assert chat.likelihood != bare.likelihood


def test_a_template_that_refuses_is_a_clear_error(chatty: Any):
    chatty.chat_template = "{{ raise_exception('system turn first') }}"
    with pytest.raises(ProbeError, match="system turn first"):
        Renderer(chatty, "auto").cloze("He met")


def test_a_template_that_writes_the_date_always_writes_the_same(chatty: Any):
    chatty.chat_template = "{{ date_string }}{{ messages[0].content }}"
    assert Renderer(chatty, "auto").cloze("He met").text.startswith("01 Jan 2025")


# --- paraphrases -----------------------------------------------------------------------------


def _alone(loaded: LoadedModel, prompt: str) -> Any:
    item = dataclasses.replace(ITEM, prompt=prompt, paraphrases=())
    return probe(loaded, [item], FAST)[0]


def test_paraphrases_are_averaged_on_request(loaded: LoadedModel):
    mean, other = probe(loaded, [ITEM, OTHER], dataclasses.replace(FAST, paraphrases=True))
    parts = [_alone(loaded, prompt) for prompt in (ITEM.prompt, *ITEM.paraphrases)]
    for name in MEASURES:
        values = [getattr(part, name) for part in parts]
        assert getattr(mean, name) == pytest.approx(sum(values) / 3, abs=2e-6)
        assert mean.paraphrases[name] == pytest.approx(values[1:], abs=2e-6)
    assert mean.answers == sum((part.answers for part in parts), ())
    assert mean.n_samples == 3 * FAST.samples
    assert other.n_samples == 2 * FAST.samples


def test_paraphrases_are_not_asked_otherwise(loaded: LoadedModel):
    (result,) = probe(loaded, [ITEM], FAST)
    assert result.paraphrases == {}
    assert result == _alone(loaded, ITEM.prompt)


@pytest.mark.parametrize("averaged", [False, True])
def test_separate_paraphrases_are_asked_and_kept_apart(loaded: LoadedModel, averaged: bool):
    settings = dataclasses.replace(FAST, paraphrases=averaged)
    (result,) = probe(loaded, [dataclasses.replace(ITEM, separate=True)], settings)
    alone = _alone(loaded, ITEM.prompt)
    assert result.likelihood == pytest.approx(alone.likelihood, abs=2e-6)
    assert (result.p, result.answers) == (alone.p, alone.answers)
    assert result.paraphrases["likelihood"] == pytest.approx(
        [_alone(loaded, p).likelihood for p in ITEM.paraphrases], abs=2e-6
    )


# --- the rest --------------------------------------------------------------------------------


def test_a_prompt_change_is_seen_by_both_measures(loaded: LoadedModel):
    def change(text: str) -> str:
        return f"New Fact: he left. {text}"

    (changed,) = probe(loaded, [ITEM], FAST, prompt_change=change)
    written = _alone(loaded, change(ITEM.prompt))
    assert changed.likelihood == written.likelihood
    assert changed.likelihood != _alone(loaded, ITEM.prompt).likelihood
    (same,) = probe(loaded, [ITEM], FAST, prompt_change=lambda text: text)
    assert same.answers == _alone(loaded, ITEM.prompt).answers


def test_progress_reaches_its_total_in_both_stages(loaded: LoadedModel):
    calls: list[tuple[int, int, str]] = []
    settings = dataclasses.replace(FAST, batch_tokens=30)
    probe(loaded, [ITEM, OTHER], settings, progress=lambda *call: calls.append(call))
    for stage, total in (("sampling", 4), ("likelihood", 3)):
        steps = [call for call in calls if call[2] == stage]
        assert steps[0] == (0, total, stage)
        assert steps[-1] == (total, total, stage)
        assert [s[0] for s in steps] == sorted(s[0] for s in steps)
        assert len(steps) > 2


@pytest.mark.parametrize(
    ("change", "settings", "said"),
    [
        ({"object": "  "}, FAST, "'school' has no object"),
        ({"question": None}, dataclasses.replace(FAST, ask="question"), "'school' .* no question"),
        ({"prompt": " "}, FAST, "prompt of 'school' is empty"),
        (
            {"prompt": ""},
            dataclasses.replace(FAST, measures=("likelihood",)),
            "prompt of 'school' is empty",
        ),
    ],
)
def test_items_that_cannot_be_asked(
    loaded: LoadedModel, change: dict[str, Any], settings: ProbeSettings, said: str
):
    with pytest.raises(ProbeError, match=said):
        probe(loaded, [dataclasses.replace(ITEM, **change)], settings)


def test_no_items_no_results(loaded: LoadedModel):
    assert probe(loaded, []) == []
