"""Context templates: the published form, sampled top-k with a generator of their own."""

from __future__ import annotations

import pytest
import torch

from support.tiny_models import build_tiny
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.errors import RequestError
from thinkeval.editing.key_value.templates import OPENINGS, TOP_K, grouped, sample


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=6, scale=16)


def test_texts_have_their_length_and_their_openings(pair):
    model, tokenizer = pair
    found = sample(adapter_for(model), tokenizer, [(5, 10), (12, 5)], seed=0)
    assert len(found) == 15
    for i, template in enumerate(found):
        opening = OPENINGS[(i // 2) if i < 10 else i - 10]
        assert template.startswith(opening)
        assert template.endswith(". {}")
        assert template.count("{") == template.count("}") == 1
        assert "<|" not in template
    assert len(set(found)) > 10


def test_every_token_is_among_the_likeliest_five():
    """One token after each opening, sampled often: it is always of the model's first five."""
    model, tokenizer = build_tiny("gpt2", seed=6)
    starts = {opening: tokenizer(opening)["input_ids"] for opening in OPENINGS}
    for length in {len(start) for start in starts.values()}:
        found = sample(adapter_for(model), tokenizer, [(length + 1, 300)], seed=1)
        for i, opening in enumerate(OPENINGS):
            if len(starts[opening]) != length:
                continue
            likeliest = model(torch.tensor([starts[opening]])).logits[0, -1].topk(TOP_K).indices
            allowed = {
                " ".join(
                    tokenizer.decode([*starts[opening], token], skip_special_tokens=True).split()
                )
                + ". {}"
                for token in likeliest.tolist()
            }
            seen = set(found[i * 60 : (i + 1) * 60])
            assert seen <= allowed
            assert len(seen) == len(allowed), "60 draws of a flat five should show each"


def one_opening_at_a_time(model, tokenizer, length_params, seed):
    """The texts of the published form: `multinomial`, and whole forwards without padding."""
    generator = torch.Generator().manual_seed(seed)
    texts = []
    for length, number in length_params:
        for opening in OPENINGS:
            if number < len(OPENINGS):
                continue
            ids = torch.tensor([tokenizer(opening)["input_ids"]] * (number // len(OPENINGS)))
            while ids.shape[1] < length:
                with torch.no_grad():
                    best, tokens = model(ids).logits[:, -1].topk(TOP_K)
                choice = torch.multinomial(best.softmax(-1), 1, generator=generator)
                ids = torch.cat([ids, tokens.gather(1, choice)], 1)
            texts += tokenizer.batch_decode(ids.tolist(), skip_special_tokens=True)
    return [" ".join(text.split()).replace("{", "").replace("}", "") + ". {}" for text in texts]


def test_texts_that_grow_together_are_those_of_one_opening_after_the_other(pair):
    model, tokenizer = pair
    lengths = [(5, 10), (10, 10), (1, 5), (9, 4), (7, 15)]
    found = sample(adapter_for(model), tokenizer, lengths, seed=4)
    assert found == one_opening_at_a_time(model, tokenizer, lengths, 4)
    assert len(found) == 40
    assert sample(adapter_for(model), tokenizer, [(9, 4)], seed=4) == []
    assert len({len(tokenizer(opening)["input_ids"]) for opening in OPENINGS}) > 1, "padding"


def test_the_seed_decides_and_the_global_generator_is_left_alone(pair):
    model, tokenizer = pair
    adapter = adapter_for(model)
    torch.manual_seed(1)
    state = torch.random.get_rng_state()
    first = sample(adapter, tokenizer, [(8, 5)], seed=2)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.manual_seed(2)
    assert sample(adapter, tokenizer, [(8, 5)], seed=2) == first
    assert sample(adapter, tokenizer, [(8, 5)], seed=3) != first


def test_groups():
    sampled = ["A. {}", "B. {}"]
    assert grouped(None, sampled, bare_apart=False) == (("{}", "A. {}", "B. {}"),)
    assert grouped(None, sampled, bare_apart=True) == (("{}",), ("A. {}", "B. {}"))
    assert grouped(None, [], bare_apart=True) == (("{}",),)
    assert grouped(None, ["A. {}"], fixed=["{}", "In fact, {}"], bare_apart=False) == (
        ("{}", "In fact, {}", "A. {}"),
    )
    assert grouped(["B. {}"], sampled, bare_apart=True) == (("{}",), ("B. {}",))
    nested = [["{}", "A. {}"], ["B. {}"]]
    assert grouped(nested, sampled, bare_apart=True) == (("{}", "A. {}"), ("B. {}",))


@pytest.mark.parametrize("given", [["{} {}"], ["{}", "none"], [["A. {}"]], [[]]])
def test_templates_that_cannot_be_filled_are_refused(given):
    with pytest.raises(RequestError):
        grouped(given, [], bare_apart=False)
