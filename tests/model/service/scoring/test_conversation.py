"""Conversations with models: batches against one greedy generation at a time, and a whole score."""

from __future__ import annotations

import pytest
import torch

from support.tiny_models import build_tiny
from thinkeval.cypher.rows.chains import Link
from thinkeval.editing.deltas import applied
from thinkeval.editing.models import LoadedModel, wrap
from thinkeval.editing.probe.matching import contains, first_sentence
from thinkeval.loaders.records import KnowledgeGraph
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring.conversation import MAX_TOKENS, Answerer, Asked, Turns
from thinkeval.service.scoring.metrics import chain_rows
from thinkeval.service.scoring.plan import execute, plan_edit
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.resolved import resolve
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit

TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TALKS: list[Turns] = [
    ((Asked("Where did Harry Potter study?"), ""),),
    ((Asked("Who is it?"), "Ron."), (Asked("Ron knows", cloze=True), "")),
    ((Asked("a?"), "b"), (Asked("c?"), "d"), (Asked("e?"), "")),
]
PLAIN = [
    "Question: Where did Harry Potter study? Answer:",
    "Question: Who is it? Answer: Ron.\nRon knows",
    "Question: a? Answer: b\nQuestion: c? Answer: d\nQuestion: e? Answer:",
]


def greedy(loaded: LoadedModel, text: str, *, special: bool) -> str:
    """The most likely continuation, one token at a time, without batch and cache."""
    ids = loaded.tokenizer(text, add_special_tokens=special)["input_ids"]
    start = len(ids)
    for _ in range(MAX_TOKENS):
        with torch.no_grad():
            token = int(loaded.model(torch.tensor([ids])).logits[0, -1].argmax())
        if token == loaded.tokenizer.eos_token_id:
            break
        ids = [*ids, token]
    return loaded.tokenizer.decode(ids[start:], skip_special_tokens=True)


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_answers_in_a_batch_are_those_of_each_conversation_by_itself(architecture: str) -> None:
    loaded = wrap(*build_tiny(architecture), name=architecture)
    found = Answerer(loaded, chat=False)(TALKS)
    for text, answer in zip(PLAIN, found, strict=True):
        assert first_sentence(answer or "") == first_sentence(greedy(loaded, text, special=True))


def test_a_chat_template_gets_every_turn_in_its_role() -> None:
    loaded = wrap(*build_tiny("llama"), name="llama")
    loaded.tokenizer.chat_template = TEMPLATE
    frame = "Answer with the name only, without a sentence around it. "
    text = f"<|user|>{frame}a?<|assistant|>b<|user|>{frame}c?"
    [found] = Answerer(loaded, chat=True)([((Asked("a?"), "b"), (Asked("c?"), ""))])
    # The tiny model reads 128 tokens, so its answer is cut after a few.
    assert found
    assert greedy(loaded, f"{text}<|assistant|>", special=False).startswith(found)


def test_an_in_context_method_changes_what_is_read_before_the_first_question() -> None:
    loaded = wrap(*build_tiny("gpt2"), name="gpt2")
    [found] = Answerer(loaded, chat=False, change=lambda text: f"Note.\n{text}")(TALKS[1:2])
    expected = greedy(loaded, f"Note.\n{PLAIN[1]}", special=True)
    assert first_sentence(found or "") == first_sentence(expected)


def test_a_conversation_that_is_too_long_for_the_model_has_no_answer() -> None:
    loaded = wrap(*build_tiny("gpt2"), name="gpt2")
    limit = loaded.model.config.n_positions
    long = ((Asked("word " * limit), ""),)
    first, second = Answerer(loaded, chat=False)([long, TALKS[0]])
    assert first is None
    assert second is not None


def test_a_score_has_the_conversation_beside_ifr(
    runtime: Runtime, organism: RuntimeModel, graph_id: str
) -> None:
    """An edit of the organism: each chain again, alone, with greedy answers of the edited model."""
    datasets.store(runtime.db, datasets.read("hogwarts", name=graph_id))
    rewrite = datasets.list_rewrites(runtime.db, graph_id)[0]
    request = ScoreRequest.of(
        rewrite, graph=graph_id, model=organism.source, method="rome", samples=0, max_steps=2,
        conversation=True,
    )  # fmt: skip
    score = score_edit(runtime, request)
    plain = score_edit(runtime, request.model_copy(update={"conversation": False}))
    assert plain.edit != score.edit
    assert plain.conversation is None
    for one, other in zip(plain.values, score.values, strict=True):
        assert (one.metric, one.n) == (other.metric, other.n)
        assert one.value == (other.value and pytest.approx(other.value, rel=1e-12))
    found = score.conversation
    assert found is not None
    chains = chain_rows(runtime.db, score, "likelihood")
    content = datasets.stored_graph(runtime.db, graph_id)
    effect = execute(plan_edit(resolve(runtime, request)))
    with applied(organism.loaded.model, effect):
        leaks = {row.entities: _alone(organism.loaded, row.links, content) for row in chains}
    assert leaks
    assert (found.chains, found.n, found.leaking) == (len(chains), len(chains), sum(leaks.values()))
    active = [leaks[row.entities] for row in chains if row.surviving]
    [exact] = [each for each in found.active if each.measure == "likelihood"]
    assert (exact.n, exact.leaking) == (len(active), sum(active))
    again = score_edit(runtime, request)
    assert again.reused
    assert again.conversation == found


def _alone(loaded: LoadedModel, links: tuple[Link, ...], content: KnowledgeGraph) -> bool:
    about, answer, text = links[0].subject, "", ""
    for link in links:
        assert link.question
        text += f"Question: {link.question.replace(link.subject, about)} Answer:"
        answer = first_sentence(greedy(loaded, text, special=True))
        about = answer.strip(" .")
        text += f" {answer}\n"
    return contains(answer, (links[-1].object, *content.aliases(links[-1].object)))
