"""In-context editing: exact texts, what fits into the context, and scores of the changed prompt."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
import torch

from support.own_graphs import hogwarts_as, own_graphs
from support.tiny_models import build_tiny
from thinkeval.editing import hparams, registry
from thinkeval.editing.deltas import applied
from thinkeval.editing.deltas.prompt_change import from_plain, to_plain
from thinkeval.editing.errors import EditFailedError, HparamsError, RequestError
from thinkeval.editing.in_context.demonstrations import Demonstration, InContext
from thinkeval.editing.methods import ike
from thinkeval.editing.models import weights_digest, wrap
from thinkeval.editing.probe import ProbeItem, ProbeSettings, probe
from thinkeval.editing.probe.prompts import Renderer, prompt_ids
from thinkeval.editing.retrievers import tfidf
from thinkeval.editing.sequence import edit_in_sequence
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring import plan
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.resolved import resolve
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit

HARRY = RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Paris")
FRANCE = RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw")
RON = "Ron Weasley studied at London"
POOL = (
    Demonstration("copy", "ron", RON, "Ron Weasley studied at", "London"),
    Demonstration("update", "ron", RON, "Ron Weasley went to", "London"),
    Demonstration("retain", "ron", RON, "Albus is in", "Rome"),
    Demonstration("copy", "apple", "Apple is in Rome", "Apple is in", "Rome"),
    Demonstration("retain", "apple", "Apple is in Rome", "Padma studied at", "Oslo"),
    Demonstration("update", "padma", "Padma studied at Rome", "Padma went to", "Rome"),
)


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=11, scale=16)


def execute(pair, requests=(HARRY,), pool=POOL, *, room=20, seed=0, state=None, **changes):
    h = ike.HyperParams.from_dict(changes)
    given = {"demonstrations": pool, "room": room} | (state or {})
    return ike.execute(*pair, list(requests), h, state=given, seed=seed)


def test_the_text_is_the_papers(pair):
    """The nearest facts, by hand: Padma's and Ron's share "studied at" with the new one, and
    Padma's has fewer other words. The nearest stands last, beside the prompt."""
    effect = execute(pair, k=2, ratio=[1, 1, 0], room=8)
    assert effect.prompt_change("The mother of Harry Potter is") == (
        "New Fact: Ron Weasley studied at London\nPrompt: Ron Weasley studied at London\n\n"
        "New Fact: Padma studied at Rome\nPrompt: Padma went to Rome\n\n"
        "New Fact: Harry Potter studied at Paris\nPrompt: The mother of Harry Potter is"
    )
    assert effect.state["used"] == 2
    assert effect.state["kinds"] == {"copy": 1, "update": 1}
    assert effect.deltas == {}
    first = execute(pair, k=2, ratio=[1, 1, 0], room=8, order="similar_first").prompt_change
    assert first.demonstrations == effect.prompt_change.demonstrations[::-1]


def test_published_code_takes_the_nearest_texts_whatever_their_kind(pair):
    changes = {"mix": "published_code", "order": "similar_first", "k": 2, "room": 1}
    shown = execute(pair, **changes).prompt_change.demonstrations
    query = "New Fact: Harry Potter studied at Paris\nPrompt: Harry Potter studied at\n\n"
    texts = [d.text for d in POOL]
    values = dict(zip(texts, tfidf.similarities(query, texts), strict=True))
    assert list(shown) == sorted(texts, key=lambda text: -values[text])[:2]
    assert shown[0] == POOL[0].text, "a copy: it repeats the words, as the query does"


def test_demonstrations_that_name_the_edited_are_shown_only_if_asked_for(pair):
    """The published code excludes nothing by name."""
    named = Demonstration("copy", "lily", "Lily studied at Paris", "Lily studied at", "Paris")
    options = {"mix": "published_code", "order": "similar_first", "k": 7, "room": 1}
    texts = {
        exclude: execute(
            pair, pool=(*POOL, named), exclude_named=exclude, **options
        ).prompt_change.demonstrations
        for exclude in (True, False)
    }
    assert named.text not in texts[True]
    assert set(texts[False]) == {*texts[True], named.text}


@pytest.mark.parametrize("state", [None, {}, {"demonstrations": ()}])
def test_without_demonstrations_the_new_fact_alone_is_told(pair, state):
    effect = ike.execute(*pair, [HARRY], ike.HyperParams(), state=state)
    assert effect.prompt_change == InContext((), ("Harry Potter studied at Paris",))
    assert effect.prompt_change("Q") == "New Fact: Harry Potter studied at Paris\nPrompt: Q"
    assert effect.state["used"] == 0
    assert effect.n_steps == {"harry": 0}


def test_what_names_subject_or_targets_is_never_shown(pair):
    leaks = tuple(
        Demonstration("copy", name, f"{name} is here", "It is", "here")
        for name in ("Harry Potter", "Hogwarts", "Paris")
    )
    shown = execute(pair, pool=(*leaks, POOL[3])).prompt_change.demonstrations
    assert shown == (POOL[3].text,)


def tokens(pair, text):
    return len(pair[1](text)["input_ids"])


@pytest.mark.parametrize("room", [1, 30, 60, 90])
def test_as_many_as_fit_are_shown_the_least_similar_left_out(pair, room):
    """Exactly: one more would not fit. Both models read 128 tokens."""
    ranked = execute(pair, k=6, room=1, order="similar_first").prompt_change.demonstrations
    effect = execute(pair, k=6, room=room, order="similar_first")
    n = effect.state["used"]
    assert effect.prompt_change.demonstrations == ranked[:n]
    assert tokens(pair, effect.prompt_change("")) + room <= 128
    if n < len(ranked):
        longer = InContext(ranked[: n + 1], effect.prompt_change.facts)
        assert tokens(pair, longer("")) + room > 128
    assert sum(effect.state["kinds"].values()) == n


def test_room_for_the_probe_is_kept(pair):
    """Demonstrations left out would have been refused by the probe; those kept are answered."""
    loaded = wrap(*pair, name="tiny")
    item = ProbeItem("it", "The capital of Poland is", "Warsaw")
    settings = ProbeSettings(samples=1, max_new_tokens=16)
    longest = len(prompt_ids(pair[1], Renderer(pair[1], "auto").cloze(item.prompt)))
    effect = execute(pair, pool=POOL * 4, room=longest + 16 + 2)
    assert 0 < effect.state["used"] < 3
    assert probe(loaded, [item], settings, prompt_change=effect.prompt_change)[0].n_samples == 1


def test_a_fact_that_does_not_fit_at_all_is_an_error(pair):
    with pytest.raises(EditFailedError, match=r"'harry'.*do not fit into the 128") as caught:
        execute(pair, room=125)
    assert "max_new_tokens" in caught.value.remedy


def test_the_changed_prompt_is_what_is_asked(pair):
    """The probe's answer is that of the whole text by hand, and not that of the plain prompt."""
    model, tokenizer = pair
    loaded = wrap(*pair, name="tiny")
    effect = execute(pair)
    item = ProbeItem("it", "Harry Potter studied at", "Paris")
    settings = ProbeSettings(measures=("likelihood",))
    plain = probe(loaded, [item], settings)[0].likelihood
    with applied(model, effect):
        changed = probe(loaded, [item], settings, prompt_change=effect.prompt_change)[0].likelihood
    prompt = tokenizer(effect.prompt_change(item.prompt))["input_ids"]
    answer = tokenizer(" Paris", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([prompt + answer])).logits[0].double().log_softmax(-1)
    by_hand = sum(logits[len(prompt) - 1 + i, token] for i, token in enumerate(answer)).exp()
    assert changed == pytest.approx(float(by_hand), rel=1e-4)
    assert abs(changed - plain) > 0.01 * plain


def test_a_sequence_tells_all_facts_and_an_edit_anew_replaces_the_old(pair):
    first = execute(pair)
    second = execute(pair, [FRANCE], room=10, state=first.state | {"room": 10})
    assert second.prompt_change.facts == (
        "Harry Potter studied at Paris",
        "The capital of France is Warsaw",
    )
    together = execute(pair, [HARRY, FRANCE], room=10)
    assert together.prompt_change.facts == second.prompt_change.facts
    assert first.prompt_change.followed_by(second.prompt_change) == second.prompt_change
    again = dataclasses.replace(HARRY, id="anew", target_new="London")
    third = execute(pair, [again], room=10, state=second.state)
    assert third.prompt_change.facts[-1] == "Harry Potter studied at London"
    assert len(third.prompt_change.facts) == 2
    assert not [d for d in third.prompt_change.demonstrations if "London" in d]


def test_edits_in_sequence_stay_plain_data(pair):
    """Each fact and example is told once, however many edits there were."""
    h, given = ike.HyperParams(), {"demonstrations": POOL, "room": 10}
    *_, last = edit_in_sequence(*pair, [[HARRY], [FRANCE]], ike, h, None, state=given)
    first = execute(pair, room=10)
    second = execute(pair, [FRANCE], room=10, state=first.state)
    assert last.prompt_change == second.prompt_change
    assert from_plain(to_plain(last.prompt_change)) == last.prompt_change
    assert last.n_steps == {"harry": 0, "france": 0}


def test_it_can_be_saved_as_plain_data(pair):
    change = execute(pair).prompt_change
    assert from_plain(to_plain(change)) == change
    assert from_plain(to_plain(change))("Q") == change("Q")


@pytest.mark.parametrize("training", [False, True])
def test_the_model_is_untouched(pair, training):
    model, _ = pair
    model.train(training)
    before, rng = weights_digest(model), torch.random.get_rng_state()
    effect = execute(pair)
    with applied(model, effect):
        assert weights_digest(model) == before
    assert weights_digest(model) == before
    assert model.training == training
    assert torch.equal(torch.random.get_rng_state(), rng)
    model.eval()


def test_the_seed_matters_to_retrievers_that_draw_only(pair):
    assert execute(pair, k=2, seed=1).prompt_change == execute(pair, k=2, seed=2).prompt_change
    drawn = {execute(pair, k=2, seed=s, retriever="random").prompt_change for s in range(8)}
    assert len(drawn) > 1
    assert execute(pair, k=2, seed=3, retriever="random") == execute(
        pair, k=2, seed=3, retriever="random"
    )


def test_bad_requests_are_named(pair):
    for bad, message in (
        (dataclasses.replace(HARRY, target_new=""), "'harry'.*empty"),
        (dataclasses.replace(HARRY, prompt="no slot"), "'harry'.*no {}"),
    ):
        with pytest.raises(RequestError, match=message):
            execute(pair, [bad])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": -1}, "'k'"),
        ({"room": 0}, "'room'"),
        ({"ratio": [1, 2]}, "three numbers"),
        ({"ratio": [0, 0, 0]}, "three numbers"),
        ({"retriever": "tfdif"}, "did you mean 'tfidf'"),
        ({"mix": "flat"}, "'ratio' or 'published_code'"),
        ({"order": "last"}, "'similar_last' or 'similar_first'"),
    ],
)
def test_bad_hyperparameters(changes, message):
    with pytest.raises(HparamsError, match=message):
        ike.HyperParams.from_dict(changes)


@pytest.mark.parametrize("model", hparams.available("ike"))
def test_the_files(model):
    h = hparams.load("ike", model)
    assert (h.k, h.ratio, h.retriever) == (16, (1, 3, 4), "tfidf")
    assert type(h).from_dict(h.as_dict()) == h
    assert registry.covariance_layers(ike, h) == ()


@pytest.fixture(scope="module")
def graph(runtime: Runtime, organism: RuntimeModel) -> Iterator[str]:
    with own_graphs(runtime.db) as prefix:
        yield hogwarts_as(runtime.db, f"{prefix}-hogwarts")


def asked_for(runtime: Runtime, organism: RuntimeModel, graph: str, **changes) -> ScoreRequest:
    stored = datasets.list_rewrites(runtime.db, graph)
    rewrite = next(r for r in stored if r.id.startswith("harry-potter--studied-at"))
    return ScoreRequest.of(
        rewrite, graph=graph, model=organism.source, method="ike", samples=0, **changes
    )


def test_a_score_is_taken_of_the_changed_prompt(runtime, organism, graph):
    """End to end. A model of a million parameters learns nothing from examples, so its efficacy is
    low; what counts is that the context was there, and what the record says of it."""
    request = asked_for(runtime, organism, graph)
    score = score_edit(runtime, request)
    said = score.provenance["demonstrations"]
    assert said["used"] == sum(said["kinds"].values()) >= 1
    assert said["available"] > said["used"]
    plain = score_edit(runtime, request.model_copy(update={"method": "none"}))
    assert plain.get("ifr", "likelihood").value == 1.0
    assert score.get("ifr", "likelihood").value != 1.0
    assert score_edit(runtime, request).reused


def test_the_examples_are_part_of_an_edits_identity(runtime, organism, graph):
    from thinkeval.service.scoring import plan

    plans = [
        plan.plan_edit(resolve(runtime, asked_for(runtime, organism, graph, seed=seed)))
        for seed in (0, 0, 1)
    ]
    digests = [made.identity["demonstrations"]["digest"] for made in plans]
    assert digests[0] == digests[1] != digests[2]
    assert plans[0].provenance["demonstrations"]["digest"] == digests[0]


def test_the_longest_question_and_answer_fit(runtime, organism, graph):
    """The room is that of the longest text that the score asks, in the model's own tokens."""
    request = asked_for(runtime, organism, graph)
    resolved = resolve(runtime, request)
    state = plan.state_for(resolved)
    tokenizer = organism.loaded.tokenizer
    scope = resolved.scope
    prompts = [f.prompt.replace("{}", f.subject) for f in scope.facts]
    longest = max(len(tokenizer(p)["input_ids"]) for p in prompts)
    assert state["room"] >= longest + request.probe.max_new_tokens
    measured = {fact.id for fact in scope.facts}
    assert state["demonstrations"]
    assert not measured & {d.source for d in state["demonstrations"]}
