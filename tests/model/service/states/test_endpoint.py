"""A state behind a server beside the same model in this process: the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.endpoints.model_server import ModelServer
from support.endpoints.scoring_server import scoring
from support.states.small import NO_DATASET, QUESTIONS, numbers
from support.tiny_models import build_tiny
from thinkeval.editing.models import wrap
from thinkeval.editing.probe import ProbeSettings
from thinkeval.loaders.records import Fact
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring.probe import Neighbor, Question, probe, questions_for
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.states.opened import load_state
from thinkeval.service.states.spec import StateIn


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Runtime]:
    """A runtime without a database."""
    with Runtime(Settings(home=tmp_path / "home")) as runtime:
        yield runtime


RICH = [
    *QUESTIONS,
    Question(
        Fact(
            "Harry Potter", "r", "Hogwarts", "{} studied at", paraphrases=("The school of {} is",)
        ),
        aliases=("Hogwarts School", "the school"),
        generalization=("{} went to",),
        neighborhood=(Neighbor("Ron Weasley studied at", "Hogwarts"),),
    ),
]


@pytest.mark.parametrize("ask_by", ["cloze", "question"])
def test_scored_prompts_give_the_likelihoods_of_the_same_model(ask_by: str, here: Runtime) -> None:
    model, tokenizer = build_tiny("gpt2")
    settings = ProbeSettings(measures=("likelihood", "likelihood_norm"), ask=ask_by)  # type: ignore[arg-type]
    questions = RICH
    if ask_by == "question":
        fact = Fact("Harry Potter", "r", "Hogwarts", "{}", questions=("Where did Harry study?",))
        questions = [Question(fact, ("Hogwarts School",))]
    wanted = probe(wrap(model, tokenizer, name="local"), questions, settings)
    with scoring(model, tokenizer) as address:
        state = StateIn(model="tiny", endpoint=address)
        with load_state(here, state, NO_DATASET) as served:
            found = served.ask(questions, settings)
            assert served.about.exact
    for measure in ("likelihood", "likelihood_norm"):
        assert numbers(found, measure) == pytest.approx(numbers(wanted, measure), rel=1e-4)
    for one, other in zip(found, wanted, strict=True):
        assert one.paraphrases.keys() == other.paraphrases.keys()
        for kind in ("paraphrases", "neighborhood"):
            for measure, values in getattr(other, kind).items():
                assert getattr(one, kind)[measure] == pytest.approx(values, rel=1e-4)


def test_samples_of_a_server_are_those_of_its_seeds(here: Runtime) -> None:
    model, tokenizer = build_tiny("gpt2")
    settings = ProbeSettings(samples=6, measures=("p",), max_new_tokens=6)
    with scoring(model, tokenizer) as address:
        state = StateIn(model="tiny", endpoint=address)
        found = []
        for _ in range(2):
            with load_state(here, state, NO_DATASET) as served:
                found.append(served.ask(QUESTIONS, settings))
    assert found[0] == found[1]
    assert len(set(found[0][0].answers)) > 1


@pytest.mark.heavy
def test_an_organism_behind_transformers_serve_answers_as_it_does_here(
    runtime: Runtime,
    organism: RuntimeModel,
    served_organism: ModelServer,
    hogwarts: str,
    here: Runtime,
) -> None:
    """The server draws by itself: shares agree within what samples of this size allow."""
    facts = datasets.content(runtime.db, hogwarts).facts[:6]
    wrong = [Fact(f.subject, f.relation, "Atlantis", f.prompt) for f in facts[:2]]
    questions = questions_for([*facts, *wrong], {})
    settings = ProbeSettings(samples=8, measures=("p",), max_new_tokens=12)
    wanted = probe(organism.loaded, questions, settings)
    state = StateIn(model=served_organism.model, endpoint=served_organism.url)
    with load_state(here, state, NO_DATASET) as served:
        found = served.ask(questions, settings)
        about = served.about
        assert not about.exact
    assert about.about["capabilities"]["sampled"] == "generation_config"
    n, difference, variance = settings.samples, 0.0, 0.0
    for one, other in zip(found, wanted, strict=True):
        assert one.n_samples == other.n_samples == n
        p = (one.values["p"] + other.values["p"]) / 2  # of one alone it is 0 or 1 too often
        # Four standard deviations of one question: always here, never there.
        assert abs(one.values["p"] - other.values["p"]) < 1
        difference += one.values["p"] - other.values["p"]
        variance += 2 * p * (1 - p) / n
    # At so few samples, all questions together tell more.
    assert abs(difference) <= 4 * variance**0.5 + 2 / n
    assert [each.values["p"] for each in found[6:]] == [0.0, 0.0]
    mean = sum(each.values["p"] for each in found[:6]) / 6
    assert mean > 0.5, "it knows its graph"
