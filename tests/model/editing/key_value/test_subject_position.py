"""The subject's last token, whatever stands around it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from support.tiny_models import build_tiny, build_tokenizer
from thinkeval.editing.errors import RequestError
from thinkeval.editing.key_value import subject_position

CASES = [
    ("{} studied at", "Harry Potter", "", ""),
    ("The mother of {} is", "Harry Potter", "", " Lily Evans"),
    ("Harry Potter is the son of {} and", "Harry Potter", "", ""),
    ("{}", "Harry", "", ""),
    ("The sister of {}", "Padma Patil", "Because I. ", ""),
    ("{}'s school is", "Harry Potter", "Harry Potter. ", ""),
    ("Zoë met {}, who", "Zoë Ł. 漢字", "", ""),
    ("All of {} is", "a {} b", "", ""),
]


@pytest.fixture(params=["gpt2", "llama"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return build_tokenizer(bos=request.param == "llama")


def _filled() -> tuple[list[str], list[subject_position.Span]]:
    filled = [subject_position.fill(p, s, prefix=a, suffix=b) for p, s, a, b in CASES]
    return [text for text, _ in filled], [span for _, span in filled]


def test_fill_marks_the_subject():
    for (prompt, subject, prefix, suffix), text, span in zip(CASES, *_filled(), strict=True):
        assert text[slice(*span)] == subject
        assert text == prefix + prompt.split("{}")[0] + subject + prompt.split("{}")[1] + suffix


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_tokens_up_to_the_place_end_with_the_subject(tokenizer: Any, side: str):
    texts, spans = _filled()
    batch = subject_position.encode_with_subject(tokenizer, texts, spans, padding_side=side)
    for row, text, span in zip(range(len(texts)), texts, spans, strict=True):
        place = int(batch.subject_last[row])
        real = batch.input_ids[row, : place + 1][batch.attention_mask[row, : place + 1] == 1]
        assert tokenizer.decode(real, skip_special_tokens=True) == text[: span[1]]


def test_padding_shifts_the_place_and_nothing_else(tokenizer: Any):
    texts, spans = _filled()
    left = subject_position.encode_with_subject(tokenizer, texts, spans, padding_side="left")
    right = subject_position.encode_with_subject(tokenizer, texts, spans, padding_side="right")
    width = right.input_ids.shape[1]
    assert (left.subject_last - (width - left.lengths)).tolist() == right.subject_last.tolist()
    assert right.subject_last.tolist() == subject_position.subject_last(tokenizer, texts, spans)
    for row, length in enumerate(right.lengths.tolist()):
        assert left.input_ids[row, width - length :].equal(right.input_ids[row, :length])
        assert left.position_ids[row, width - length :].tolist() == list(range(length))


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_both_padding_sides_give_the_model_the_same(architecture: str):
    model, tokenizer = build_tiny(architecture)
    texts, spans = _filled()
    logits = {}
    for side in ("left", "right"):
        batch = subject_position.encode_with_subject(tokenizer, texts, spans, padding_side=side)
        with torch.no_grad():
            out = model(**batch.inputs()).logits.softmax(-1)
        logits[side] = out[torch.arange(len(texts)), batch.subject_last]
    torch.testing.assert_close(logits["left"], logits["right"], atol=2e-6, rtol=0)


def test_a_token_that_reaches_beyond_the_subject_counts():
    assert subject_position.last_token([(0, 0), (0, 5), (5, 12), (12, 14)], (6, 9)) == 2
    assert subject_position.last_token([(0, 0), (0, 5)], (6, 9)) is None


def test_a_subject_without_tokens_is_refused(tokenizer: Any):
    with pytest.raises(RequestError, match="missing from the tokens"):
        subject_position.subject_last(tokenizer, ["Harry"], [(5, 5)])


@pytest.mark.parametrize("prompt", ["no slot", "{} and {}"])
def test_a_prompt_needs_exactly_one_slot(prompt: str):
    with pytest.raises(RequestError, match=r"no \{\}|2 times") as caught:
        subject_position.fill(prompt, "Harry")
    assert "exactly one" in caught.value.remedy


def test_an_empty_subject_is_refused():
    with pytest.raises(RequestError, match="is empty"):
        subject_position.fill("{} is", "  ")


def test_the_tokenizers_own_padding_side_does_not_matter():
    _, tokenizer = build_tiny("gpt2")
    texts, spans = _filled()
    tokenizer.padding_side = "left"
    one = subject_position.encode_with_subject(tokenizer, texts, spans)
    tokenizer.padding_side = "right"
    two = subject_position.encode_with_subject(tokenizer, texts, spans)
    assert one.input_ids.equal(two.input_ids)
