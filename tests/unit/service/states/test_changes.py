"""A fine-tune as it is written: read from the right, with what is wrong named."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkeval.editing.training.settings import FULL_LR, LORA_LR, FineTuning
from thinkeval.service.base.errors import UsageError
from thinkeval.service.states.spec import FineTune, parse_fine_tune


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("finetune:graph", FineTune("graph", FineTuning())),
        ("finetune:./graph", FineTune("./graph", FineTuning())),
        ("finetune:a.txt:steps=3", FineTune("a.txt", FineTuning(steps=3))),
        ("finetune:C:/a.txt:full:seed=0", FineTune("C:/a.txt", FineTuning(seed=0))),
        (
            "finetune:a.txt:batch=2:lr=1e-3:lora=4:steps=5:seed=9",
            FineTune("a.txt", FineTuning(steps=5, lr=1e-3, lora=4, batch=2, seed=9)),
        ),
        ("finetune:steps=3", FineTune("steps=3", FineTuning())),
        ("finetune:a=1:steps=3", FineTune("a=1", FineTuning(steps=3))),
    ],
)
def test_a_fine_tune_is_read_from_the_right(text: str, change: FineTune) -> None:
    assert parse_fine_tune(text) == change


def test_an_existing_file_is_named_by_its_whole_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes:steps=3").write_text("a")
    assert parse_fine_tune("finetune:notes:steps=3") == FineTune("notes:steps=3", FineTuning())
    both = parse_fine_tune("finetune:notes:steps=3:steps=4")
    assert both == FineTune("notes:steps=3", FineTuning(steps=4))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("finetune:", "names no file"),
        ("finetune::steps=3", "names no file"),
        ("finetune:a:steps=0", "out of range"),
        ("finetune:a:steps=x", "out of range"),
        ("finetune:a:steps=2.5", "out of range"),
        ("finetune:a:lr=0", "out of range"),
        ("finetune:a:lr=nan", "out of range"),
        ("finetune:a:lr=2", "out of range"),
        ("finetune:a:lora=0", "out of range"),
        ("finetune:a:batch=0", "out of range"),
        ("finetune:a:seed=-1", "out of range"),
        ("finetune:a:steps=1:steps=2", "twice"),
        ("finetune:a:full:lora=2", "low-rank"),
    ],
)
def test_a_wrong_part_is_named(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        parse_fine_tune(text)
    assert len(caught.value.remedy) > 5


def test_the_learning_rate_is_that_of_what_is_trained() -> None:
    assert FineTuning().as_dict()["lr"] == FULL_LR
    assert FineTuning(lora=4).as_dict()["lr"] == LORA_LR
    assert FineTuning(lora=4, lr=0.5).as_dict()["lr"] == 0.5
