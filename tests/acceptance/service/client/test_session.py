"""`thinkeval.open()`: a session on this machine and the client of a service, side by side."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from support.commands import Mine
from support.serving import Service, settings_of
from support.states.audits import is_whole
from thinkeval.editing.models import weights_digest
from thinkeval.service.base.errors import UsageError
from thinkeval.service.client.http import ProblemError
from thinkeval.service.client.rest import Client
from thinkeval.service.client.session import Session
from thinkeval.service.client.session import open as opened
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

REWRITE = "harry-potter--studied-at"


@pytest.fixture(scope="module")
def here(environment: dict[str, str]) -> Iterator[Session]:
    folders = {name: Path(environment[f"THINKEVAL_{name.upper()}"]) for name in ("home", "cache")}
    with Session(settings_of(environment, **folders), quiet=True) as session:
        yield session


@pytest.fixture(scope="module")
def there(service: Service) -> Iterator[Client]:
    with Client(service.url) as client:
        yield client


def test_both_have_the_same_verbs() -> None:
    for name in ("score", "compare"):
        own, remote = (inspect.signature(getattr(each, name)) for each in (Session, Client))
        assert list(own.parameters) == list(remote.parameters), name
    assert isinstance(opened("http://127.0.0.1:9"), Client)


def test_the_same_lines_give_the_same_numbers(
    here: Session, there: Client, mine: Mine, tmp_path: Path
) -> None:
    asked = {"rewrite": REWRITE, "graph": mine.graph, "method": "rome", "samples": 0}
    score = here.score(mine.model, **asked)
    remote = there.score(mine.model, **asked)
    assert remote.edit == score.edit
    assert remote.values == score.values
    one, other = (each.chains(score, surviving=True) for each in (here, there))
    assert one.equals(other)
    assert score.plot().svg == here.plot(score.edit).svg == remote.plot().svg
    assert here.leakage(score).equals(there.leakage(score.edit))
    states = (mine.model, f"{mine.model}+edit:{score.edit}")
    options = {"graph": mine.graph, "rewrites": [REWRITE], "samples": 0}
    compared = here.compare(*states, **options)
    again = there.compare(*states, **options)
    assert again.id == compared.id
    assert here.experiments.drift(compared).equals(there.experiments.drift(again.id))
    assert compared.plot().svg == there.plot(again).svg
    assert b"with the subject at" in compared.plot().svg
    assert here.chains(compared.states[0].requests[0]).equals(
        there.chains(again.states[0].requests[0].edit)
    )
    with pytest.raises(ProblemError, match="no change of a state"):
        here.compare(mine.model, f"+edit:{score.edit}", "+9bit", **options)
    audits = (
        here.experiments.audit(compared, tmp_path / "here"),
        there.experiments.audit(again.id, tmp_path / "there"),
    )
    one, other = (
        json.loads((folder / "audit.json").read_text(encoding="utf-8")) for folder in audits
    )
    assert all(map(is_whole, audits))
    # The time of writing is in the header.
    assert {**one, "header": None} == {**other, "header": None}
    later = (mine.model, f"+edit:{score.edit}", "+finetune:graph:steps=5")
    own, served = (each.compare(*later, **options) for each in (here, there))
    assert own.id == served.id
    assert own.to_frame().equals(served.to_frame())
    assert len(own.to_frame("drift")["state"].unique()) == 2
    first, last = (state.requests[0].retention["likelihood"] for state in own.states)
    assert first.retention == 1
    assert last.retention is not None
    tuned = own.states[-1].after.spec
    (again_tuned,) = there.compare(mine.model, tuned, graph=mine.graph, samples=0).states
    assert again_tuned.after.kind == "edited"
    for each in (here, there):
        with pytest.raises(ProblemError) as caught:
            each.score(mine.model, rewrite="none-such", graph=mine.graph)
        assert "none-such" in caught.value.detail
        assert caught.value.remedy
        assert caught.value.status == 404


def test_a_model_in_memory_is_scored_and_left_as_it_was(
    here: Session, mine: Mine, runtime: Runtime, organism: RuntimeModel
) -> None:
    model, tokenizer = organism.loaded.model, organism.loaded.tokenizer
    before = weights_digest(model)
    model.train()
    wanted = [p.requires_grad_(i % 2 == 0).requires_grad for i, p in enumerate(model.parameters())]
    state = torch.random.get_rng_state()
    try:
        score = here.score(
            (model, tokenizer), rewrite=REWRITE, graph=mine.graph, method="rome", samples=0
        )
        found = here.compare(
            (model, tokenizer), f"{mine.model}+edit:{score.edit}", graph=mine.graph, samples=0
        )
        assert model.training
        assert [p.requires_grad for p in model.parameters()] == wanted
        assert torch.equal(torch.random.get_rng_state(), state)
    finally:
        model.eval()
        model.requires_grad_(True)
    assert weights_digest(model) == before
    named = here.score(mine.model, rewrite=REWRITE, graph=mine.graph, method="rome", samples=0)
    assert score.number("ifr", "likelihood") == named.number("ifr", "likelihood")
    assert found.base.kind == "memory"
    assert found.base.about["weights_digest"] == before


def test_a_loaded_state_is_a_copy_with_its_edits(here: Session, mine: Mine) -> None:
    score = here.score(mine.model, rewrite=REWRITE, graph=mine.graph, method="rome", samples=0)
    model, tokenizer = here.load(mine.model, graph=mine.graph)
    edited, _ = here.load(f"{mine.model}+edit:{score.edit}", graph=mine.graph)
    pair = ((model, tokenizer, "one"), (edited, tokenizer, "other"))
    found = here.compare(*pair, graph=mine.graph, rewrites=[REWRITE], samples=0)
    assert (found.base.name, found.states[0].after.name) == ("one in memory", "other in memory")
    for metric in ("ifr", "preservation", "efficacy"):
        wanted = score.number(metric, "likelihood")
        assert found.states[0].requests[0].number(metric, "likelihood") == pytest.approx(
            wanted, abs=1e-6
        )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    again, _ = here.load(mine.model, graph=mine.graph)
    assert weights_digest(again) == found.base.about["weights_digest"]
    with pytest.raises(ProblemError, match="behind an endpoint"):
        here.load("endpoint:http://127.0.0.1:9/v1#none", graph=mine.graph)


def test_a_score_of_elsewhere_names_the_way_to_draw_it(here: Session, mine: Mine) -> None:
    score = here.score(mine.model, rewrite=REWRITE, graph=mine.graph, method="rome", samples=0)
    bare = type(score).model_validate_json(score.model_dump_json())
    assert bare == score.model_copy(update={"reused": bare.reused})
    with pytest.raises(UsageError, match="does not know the graph"):
        bare.plot()
