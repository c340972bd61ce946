"""Later changes as they are written, and the states that they make."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkeval.editing.training.settings import FULL_LR, LORA_LR, FineTuning
from thinkeval.service.errors import UsageError
from thinkeval.service.lasting.line import Adapter, Edit, FineTune, Quantise, check, parse, then
from thinkeval.service.states.words import StateIn
from thinkeval.service.states.words import parse as state_of


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("8bit", Quantise("8bit")),
        ("4bit", Quantise("4bit")),
        ("edit:rome-a-1", Edit("rome-a-1")),
        ("edit:/a:b.safetensors", Edit("/a:b.safetensors")),
        ("adapter:./lora", Adapter("./lora")),
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
def test_a_change_is_read_from_the_right(text: str, change: object) -> None:
    assert parse(text) == change


def test_an_existing_file_is_named_by_its_whole_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes:steps=3").write_text("a")
    assert parse("finetune:notes:steps=3") == FineTune("notes:steps=3", FineTuning())
    both = parse("finetune:notes:steps=3:steps=4")
    assert both == FineTune("notes:steps=3", FineTuning(steps=4))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("8bits", "not a later change"),
        ("", "not a later change"),
        ("edit:", "names nothing"),
        ("adapter:", "names nothing"),
        ("finetune:", "names nothing"),
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
def test_what_is_wrong_is_named(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        parse(text)
    assert len(caught.value.remedy) > 5


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (("adapter:a", "adapter:b"), "two adapters"),
        (("adapter:a", "8bit", "finetune:graph"), "after an adapter"),
        (("8bit", "edit:e", "8bit"), "twice"),
    ],
)
def test_a_line_that_no_states_have_is_refused(line: tuple[str, ...], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        check([parse(text) for text in line])


def test_the_words_of_a_line_quantise_last() -> None:
    line = ("8bit", "edit:b", "finetune:graph", "adapter:./l", "edit:c", "4bit")
    changes = [parse(text) for text in line]
    check(changes)
    state = StateIn(model="organism", edits=("a",))
    words = []
    for change in changes:
        state = then(state, change, "finetune-graph-1")
        words.append(state.word)
        assert state_of(state.word) == state
    assert words == [
        "organism+edit:a+8bit",
        "organism+edit:a+edit:b+8bit",
        "organism+edit:a+edit:b+edit:finetune-graph-1+8bit",
        "organism+adapter:./l+edit:a+edit:b+edit:finetune-graph-1+8bit",
        "organism+adapter:./l+edit:a+edit:b+edit:finetune-graph-1+edit:c+8bit",
        "organism+adapter:./l+edit:a+edit:b+edit:finetune-graph-1+edit:c+4bit",
    ]


def test_the_learning_rate_is_that_of_what_is_trained() -> None:
    assert FineTuning().as_dict()["lr"] == FULL_LR
    assert FineTuning(lora=4).as_dict()["lr"] == LORA_LR
    assert FineTuning(lora=4, lr=0.5).as_dict()["lr"] == 0.5
