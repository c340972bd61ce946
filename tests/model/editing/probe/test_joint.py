"""Edit, forget, probe and endpoint take the same tokens; templates fix joints and blocks."""

from __future__ import annotations

from typing import Any

import pytest

from support.real_model import model_folder
from support.tiny_models import build_tokenizer
from thinkeval.editing.answer_tokens import spelling, text_ids
from thinkeval.editing.errors import ProbeError
from thinkeval.editing.key_value.tokens import prompt_row, target_ids
from thinkeval.editing.models import load
from thinkeval.editing.probe import ProbeItem, ProbeSettings, probe
from thinkeval.editing.probe.prompts import Renderer, answer_ids, answer_text, prompt_ids
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.states.endpoint import Rendering

CASES = [
    ("{}的首都是", "法国", "巴黎", ""),
    ("เมืองหลวงของ{}คือ", "ฝรั่งเศส", "ปารีส", ""),
    ("{}의 수도는", "프랑스", "파리", " "),
    ("The capital of {} is called “", "France", "Paris", ""),
    ("The capital of {} is ", "France", "Paris", " "),
]
OPEN = (
    "{% for m in messages %}<|{{m['role']}}|>\n{{m['content']}}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n<think>\n{% endif %}"
)
INSTRUCT = (
    "{% for m in messages %}{% if m['role'] == 'user' %}[INST] {{m['content']}} [/INST]"
    "{% else %} {{m['content']}}{% endif %}{% endfor %}"
)


@pytest.mark.parametrize(("prompt", "subject", "answer", "between"), CASES)
def test_edit_forget_probe_and_endpoint_take_the_same_tokens(
    prompt: str, subject: str, answer: str, between: str
):
    tokenizer = build_tokenizer()
    asked = RewriteRequest("r", "test", prompt, subject, "", answer, answer)
    rendered = Renderer(tokenizer, "never").cloze(asked.filled_prompt)
    probed = prompt_ids(tokenizer, rendered)
    ids = answer_ids(tokenizer, rendered, probed, answer)
    assert list(prompt_row(tokenizer, asked).ids) == probed
    assert list(target_ids(tokenizer, asked)) == ids
    assert list(target_ids(tokenizer, asked, "target_true")) == ids
    there = Rendering(chat=False).cloze(asked.filled_prompt)
    assert answer_text(there, answer) == between + answer
    assert there == rendered
    assert tokenizer.decode([*probed, *ids]) == rendered.text + between + answer


def test_an_answer_that_a_token_joins_to_its_prompt_is_counted_as_apart():
    class Joining:
        def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
            whole = text.replace("是北", "#")
            return {"input_ids": [ord(c) for c in whole], "special_tokens_mask": [0] * len(whole)}

    prompt = text_ids(Joining(), "首都是")
    assert spelling(Joining(), "首都是", prompt, "北京") == ([ord("北"), ord("京")], True)
    assert spelling(Joining(), "首都是", prompt, "巴黎").apart is False


def with_template(template: str) -> Any:
    tokenizer = build_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


def test_the_space_that_a_template_writes_is_the_joint():
    rendered = Renderer(with_template(INSTRUCT), "always").cloze("The capital of France is")
    assert rendered.text.endswith("[/INST]")
    assert answer_text(rendered, "Paris") == " Paris"
    bare = Renderer(with_template(INSTRUCT.replace("%} {{", "%}{{")), "always")
    assert answer_text(bare.cloze("The capital of France is"), "Paris") == "Paris"
    silent = "{% for m in messages %}[INST] {{m['content']}} [/INST]{% endfor %}"
    rendered = Renderer(with_template(silent), "always").cloze("The capital of France is")
    assert answer_text(rendered, "Paris") == " Paris"


def test_a_block_of_reasoning_that_a_template_opens_is_closed():
    rendered = Renderer(with_template(OPEN), "always").question("Is <think> a tag?")
    assert rendered.text.endswith("<|assistant|>\n<think>\n\n</think>\n\n")
    assert answer_text(rendered, "Paris") == "Paris"
    ready = OPEN.replace("<think>\n", "<think>\n\n</think>\n\n")
    assert Renderer(with_template(ready), "always").question("Who?").text.count("</think>") == 1
    begun = OPEN.replace("<think>\n", "<think>\nOkay, ")
    with pytest.raises(ProbeError, match="begins the model's reasoning itself") as failed:
        Renderer(with_template(begun), "always").question("Who?")
    assert failed.value.remedy == "Use --chat never."


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("[THINK]", "[/THINK]"), ("◁think▷", "◁/think▷"), ("<seed:think>", "</seed:think>")],
)
def test_a_block_of_another_family_is_closed_by_its_own_tag(opening: str, closing: str):
    template = with_template(OPEN.replace("<think>", opening))
    rendered = Renderer(template, "always").question("Who?")
    assert rendered.text.endswith(f"{opening}\n\n{closing}\n\n")
    assert answer_text(rendered, "Paris") == "Paris"


@pytest.mark.parametrize("opening", ["<|thinking|>", "<|channel|>analysis<|message|>"])
def test_a_tag_that_seems_to_open_reasoning_is_refused(opening: str):
    template = with_template(OPEN.replace("<think>", opening))
    with pytest.raises(ProbeError, match="seems to open the model's reasoning") as failed:
        Renderer(template, "always").question("Who?")
    assert failed.value.remedy == "Use --chat never."
    ready = with_template(OPEN.replace("<think>", "<|no_thinking|>"))
    assert Renderer(ready, "always").question("Who?").text.endswith("<|no_thinking|>\n")


def test_a_real_model_knows_what_is_written_behind_quotes_brackets_and_slashes():
    loaded = load(str(model_folder()))
    expected = {
        ("The capital of France is the city of “", "Paris"): 0.44,
        ("The capital city of France (", "Paris"): 0.10,
        ("He chose either/", "or"): 0.98,
        ("The capital of France is", "Paris"): 0.77,
    }
    items = [ProbeItem(text, text, name) for text, name in expected]
    settings = ProbeSettings(measures=("likelihood",), chat="never")
    found = [result.likelihood for result in probe(loaded, items, settings)]
    assert found == pytest.approx(list(expected.values()), abs=0.02)
