"""An edit's resources besides its model are looked for first, once for all methods and rewrites."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.edit_methods import FRANCE, HARRY
from support.tiny_models import build_tiny
from thinkeval.editing import models
from thinkeval.editing.errors import EditingError, HparamsError
from thinkeval.service.base.settings import Settings
from thinkeval.service.growth.open_endpoint import require_models
from thinkeval.service.growth.schemas import EndpointIn, GrowthIn
from thinkeval.service.reports.formats import frame_table, render
from thinkeval.service.reports.table import scores_frame
from thinkeval.service.scoring.hyperparameters import for_model
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.resolved import hyperparameters, require_hparams
from thinkeval.service.scoring.runtime import Runtime
from thinkeval.service.states import finetune
from thinkeval.service.states.spec import StateIn, parse_fine_tune


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """A model that no hyperparameters are shipped for."""
    for part in build_tiny("gpt2"):
        part.save_pretrained(tmp_path / "mine")
    return str(tmp_path / "mine")


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """A runtime in which loading a model is an error of the test."""

    def load(*args: Any, **options: Any) -> None:
        raise AssertionError("a model is loaded")

    monkeypatch.setattr(models, "load", load)
    return Runtime(Settings())


def asked(model: str, *methods: str, **more: Any) -> list[ScoreRequest]:
    return [
        ScoreRequest.of(rewrite, model=model, method=name, **more)
        for name in methods
        for rewrite in (HARRY, replace(FRANCE, id="other"))
    ]


class Notes:
    """Progress that remembers the sentences it is to show."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def __call__(self, done: int, total: int, stage: str) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        self.said.append(text)


def test_suggested_hyperparameters_are_announced_in_one_line_and_without_a_model(
    unloaded: Runtime, mine: str
):
    """Only the methods whose values depend on the model are named; published values are not."""
    notes = unloaded.progress = Notes()
    require_hparams(unloaded, asked(mine, "none", "ike"))
    require_hparams(unloaded, asked("organism:llama", "rome", "memit"))
    require_hparams(unloaded, asked(mine, "rome", hparams="gpt2-xl"))
    assert notes.said == []
    requests = asked(mine, "rome", "none", "memit")
    for _ in range(2):
        require_hparams(unloaded, requests)
    for request in requests:
        hyperparameters(unloaded, request, "the digest of a loaded model")
    assert notes.said == [
        "No published hyperparameters of rome, memit for mine; used the suggestion: the values of"
        " gpt2-xl at layer 1 (rome, memit) (`thinkeval model methods METHOD` explains them)."
    ]
    require_hparams(unloaded, asked(mine, "memit"))
    assert len(notes.said) == 1


def test_the_suggestion_is_what_the_command_prints(unloaded: Runtime, mine: str, tmp_path: Path):
    (tmp_path / "memit.yaml").write_text(for_model(mine, "memit").as_yaml())
    (one, _) = asked(mine, "memit")
    (named, _) = asked(mine, "memit", hparams=str(tmp_path / "memit.yaml"))
    assert hyperparameters(unloaded, one).values == hyperparameters(unloaded, named).values
    changed = hyperparameters(unloaded, one.model_copy(update={"overrides": {"kl_factor": 0.5}}))
    assert changed.values.kl_factor == 0.5
    with pytest.raises(HparamsError, match=r"suggestion for 'memit': unknown key 'v_lrr'"):
        require_hparams(unloaded, asked(mine, "memit", overrides={"v_lrr": 1}))


def test_a_model_that_is_not_there_is_the_error(unloaded: Runtime, tmp_path: Path):
    with pytest.raises(EditingError, match="does not exist"):
        require_hparams(unloaded, asked(str(tmp_path / "absent"), "rome"))


def test_a_fine_tune_too_large_to_be_saved_is_refused_without_a_model(
    mine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("THINKEVAL_HOME", str(tmp_path / "home"))
    runtime = Runtime(Settings(delta_limit_mb=0))
    state, learnt = StateIn(model=mine), finetune.Learnt("notes.txt", (("", "a text"),))
    change = parse_fine_tune("finetune:graph:steps=1")
    with pytest.raises(EditingError, match="more than the limit of 0 MB"):
        finetune.require(runtime, state, change, learnt)
    finetune.require(Runtime(Settings(delta_limit_mb=100)), state, change, learnt)
    size = sum(p.numel() for p in models.load(mine, device="cpu").model.parameters())
    assert sum(p.numel() for p in models.skeleton_of(mine).parameters()) == size


def test_a_role_of_a_run_has_to_be_a_model(mine: str, tmp_path: Path):
    seed = "Paris|city in country|France"
    judge = EndpointIn(model=str(tmp_path / "rules"))
    posted = GrowthIn(seed=seed, answers=EndpointIn(model=mine))
    require_models(posted)
    with pytest.raises(EditingError, match="rules"):
        require_models(posted.model_copy(update={"judge_model": judge}))


def test_a_table_without_scores_has_its_header():
    text = render(frame_table(scores_frame([], "likelihood")), "csv")
    about = "edit,dataset,rewrite,model,method,measure,protocol,seed,weights,hparams"
    assert text.strip() == about
