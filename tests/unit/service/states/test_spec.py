"""Words of states: each form, its word again, its name, and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from thinkeval.service.base.errors import UsageError
from thinkeval.service.base.settings import Settings
from thinkeval.service.experiments import submit
from thinkeval.service.scoring import runtime
from thinkeval.service.states.schemas import ComparisonIn
from thinkeval.service.states.spec import StateIn, as_change, listed, parse, parse_sequence

FORMS = {
    "organism": StateIn(model="organism"),
    "organism:llama:seed=1,steps=600": StateIn(model="organism:llama:seed=1,steps=600"),
    "gpt2-xl@607a30d": StateIn(model="gpt2-xl", revision="607a30d"),
    "meta-llama/Meta-Llama-3-8B@main": StateIn(model="meta-llama/Meta-Llama-3-8B", revision="main"),
    "~/folder@home": StateIn(model="~/folder@home"),
    "./folder@home": StateIn(model="./folder@home"),
    "organism+edit:a+edit:b": StateIn(model="organism", edits=("a", "b")),
    "organism+8bit": StateIn(model="organism", quantized="8bit"),
    "organism+edit:a+finetune:graph:steps=3+edit:b": StateIn(
        model="organism", edits=("a", "finetune:graph:steps=3", "b")
    ),
    "gpt2@main+adapter:/x/y+edit:a+4bit": StateIn(
        model="gpt2", revision="main", adapter="/x/y", edits=("a",), quantized="4bit"
    ),
    "endpoint:http://127.0.0.1:8000/v1#qwen/qwen3+8bit": StateIn(
        model="qwen/qwen3+8bit", endpoint="http://127.0.0.1:8000/v1"
    ),
}


@pytest.mark.parametrize("word", FORMS)
def test_a_word_is_read_and_written_again(word: str) -> None:
    assert parse(word) == FORMS[word]
    assert parse(word).spec == word
    assert StateIn.model_validate(word) == FORMS[word], "a text in place of the object"
    assert StateIn.model_validate_json(FORMS[word].model_dump_json()) == FORMS[word]


def test_a_field_of_a_request_takes_either_form() -> None:
    class Request(BaseModel):
        before: StateIn

    assert Request.model_validate({"before": "organism+edit:a"}).before.edits == ("a",)
    assert Request.model_validate({"before": {"model": "organism"}}).before.model == "organism"


names = st.from_regex(r"[a-z][a-z0-9._-]{0,8}", fullmatch=True)


@given(
    names, names | st.none(), names | st.none(), st.lists(names), st.sampled_from([None, "8bit"])
)
def test_every_state_has_one_word(
    model: str, revision: str | None, adapter: str | None, edits: list[str], bits: None
) -> None:
    state = StateIn(
        model=model, revision=revision, adapter=adapter, edits=tuple(edits), quantized=bits
    )
    assert parse(state.spec) == state


def test_an_existing_folder_is_a_folder_whatever_it_is_called(tmp_path: Path) -> None:
    odd = tmp_path / "m@1+8bit"
    inner = tmp_path / "a+edit:b"
    edit = tmp_path / "e+4bit.safetensors"
    for folder in (odd, inner):
        folder.mkdir()
    edit.touch()
    assert parse(f"{odd}") == StateIn(model=f"{odd}")
    state = parse(f"{odd}+adapter:{inner}+edit:{edit}+8bit")
    assert state == StateIn(
        model=f"{odd}", adapter=f"{inner}", edits=(f"{edit}",), quantized="8bit"
    )
    assert state.name == "m@1+8bit+adapter:a+edit:b+edit:e+4bit+8bit"


NAMES = {
    "organism+8bit": "organism-gpt2-seed0+8bit",
    "/models/big": "big",
    "owner/model@main": "model@main",
    "organism:llama+edit:rome-x-1": "organism-llama-seed0+edit:rome-x-1",
    "gpt2+adapter:/home/user/lora": "gpt2+adapter:lora",
    "endpoint:https://host.example:8000/v1#owner/model": "model at host.example:8000",
}


@pytest.mark.parametrize("word", NAMES)
def test_a_name_is_short_and_shows_no_folder(word: str) -> None:
    assert parse(word).name == NAMES[word]


REFUSED = {
    "": "begins with its model",
    "+8bit": "begins with its model",
    "gpt2@": "no revision",
    "gpt2+edit:": "nothing after +edit:",
    "gpt2+adapter:": "nothing after +adapter:",
    "gpt2+adapter:a+adapter:b": "two adapters",
    "gpt2+edit:a+adapter:b": "adapter after an edit",
    "gpt2+8bit+edit:a": "quantised weights, and those cannot be changed",
    "gpt2+8bit+4bit": "quantised weights",
    "gpt2+finetune:": "names nothing|nothing after",
    "gpt2+finetune:graph+adapter:b": "adapter after an edit",
    "organism+adaptr:x": "+adaptr:x is no change of a state. Did you mean +adapter:FOLDER",
    "organism+edit:e+8bits": "+8bits is no change of a state. Did you mean +8bit",
    "gpt2+lora:x": "'gpt2+lora:x' is no folder, and +lora:x is no change of a state",
    "c++model": "no folder",
    "endpoint:http://host/v1": "does not name the model",
    "endpoint:#m": "does not name the model",
    "endpoint:file:///etc/passwd#m": "http:// or https://",
    "endpoint:http://user:secret@host/v1#m": "no user, key or query",
    "endpoint:http://host/v1?key=secret#m": "no user, key or query",
}


@pytest.mark.parametrize("word", REFUSED)
def test_a_wrong_word_is_refused_with_what_is_wrong(word: str) -> None:
    with pytest.raises(UsageError, match=REFUSED[word].replace("+", r"\+")) as refused:
        parse(word)
    assert "rite" in refused.value.remedy or "merge" in refused.value.remedy
    with pytest.raises(ValidationError):
        StateIn.model_validate(word)


def test_an_endpoint_takes_no_changes() -> None:
    with pytest.raises(ValidationError, match="as its server serves it"):
        StateIn(model="m", endpoint="http://host/v1", edits=("a",))


@pytest.mark.parametrize("model", ["organism+8bit", "gpt2+edit:a", "endpoint:http://h/v1#m"])
def test_changes_are_not_hidden_in_the_name_of_the_model(model: str) -> None:
    with pytest.raises(ValidationError, match="no change and no endpoint"):
        StateIn(model=model)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("gpt2-xl+8bit", "cannot be added to quantised weights"),
        ("organism:llama+4bit", "cannot be added to quantised weights"),
        ("gpt2+edit:E+8bit", "weights without other edits"),
        ("gpt2+adapter:/x", "the weights below an adapter"),
        ("endpoint:http://host/v1#m", "behind an endpoint are not here"),
    ],
)
def test_a_state_is_refused_where_a_model_is_edited(word: str, reason: str) -> None:
    """Said before anything is loaded: by the command line, the queue and Python."""
    with pytest.raises(UsageError, match=reason):
        runtime.parse(word)
    with pytest.raises(UsageError, match=reason):
        submit.require_allowed(Settings(models=("*",)), word)


def test_a_folder_with_the_name_of_a_state_is_a_model(tmp_path: Path) -> None:
    (tmp_path / "m+8bit").mkdir()
    assert runtime.parse(f"{tmp_path / 'm+8bit'}").name == "m+8bit"


SEQUENCE = {
    "+edit:a": "organism+edit:a",
    "+8bit": "organism+edit:a+8bit",
    "+edit:b": "organism+edit:a+edit:b+8bit",
    "+finetune:graph": "organism+edit:a+edit:b+finetune:graph+8bit",
    "+adapter:./l": "organism+adapter:./l+edit:a+edit:b+finetune:graph+8bit",
    "+edit:c+4bit": "organism+adapter:./l+edit:a+edit:b+finetune:graph+edit:c+4bit",
}
"""Changes one after the other, and the states that they make: always quantised last."""


def test_states_of_a_sequence_continue_the_state_before_them() -> None:
    states = parse_sequence(parse("organism"), SEQUENCE)
    assert [state.spec for state in states] == list(SEQUENCE.values())
    assert [parse(state.spec) for state in states] == states
    before = [parse("organism"), *states[:-1]]
    changes = [as_change(*each) for each in zip(states, before, strict=True)]
    assert changes == list(SEQUENCE)


def test_a_state_that_does_not_continue_the_one_before_is_named_in_full() -> None:
    first, *rest = parse_sequence(parse("gpt2"), ["+edit:a", "gpt2+edit:b", "+8bit", "gpt2-xl"])
    assert first.spec == "gpt2+edit:a"
    assert [state.spec for state in rest] == ["gpt2+edit:b", "gpt2+edit:b+8bit", "gpt2-xl"]
    assert as_change(rest[0], first) == "gpt2+edit:b"
    assert as_change(rest[2], rest[1]) == "gpt2-xl"
    assert as_change(first, first) == "gpt2+edit:a"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["+adapter:a", "+adapter:b"], "second adapter"),
        (["+adapter:a", "+8bit", "+finetune:graph"], "after an adapter"),
        (["+8bit", "+edit:e", "+8bit"], "8bit twice"),
        (["+9bit"], "no change of a state"),
        (["+"], "no change of a state"),
        (["+edit:"], "no change of a state"),
        (["+finetune:graph:steps=0"], "out of range"),
        (["endpoint:http://host/v1#m", "+8bit"], "as its server serves it"),
    ],
)
def test_a_sequence_that_no_states_have_is_refused(words: list[str], problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        parse_sequence(parse("organism"), words)
    assert len(caught.value.remedy) > 5
    with pytest.raises(ValidationError, match=problem):
        ComparisonIn.model_validate({"base": "organism", "states": words, "graph": "hogwarts"})


def test_a_list_is_no_base_and_the_error_says_how_one_is_written() -> None:
    asked = {"base": ["organism"], "states": ["organism+8bit"], "graph": "hogwarts"}
    with pytest.raises(ValidationError, match=r"name one state, such as organism\+edit:EDIT"):
        ComparisonIn.model_validate(asked)


def test_a_folder_of_checkpoints_and_a_list_are_each_of_their_states(tmp_path: Path) -> None:
    for step in (1000, 200, 50):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "config.json").write_text("{}")
    (tmp_path / "logs").mkdir()
    states = tmp_path / "states.txt"
    states.write_text("# unlearnt\n\ngpt2+edit:a  # first\n+8bit\n")
    assert listed([str(tmp_path), f"@{states}", "gpt2"]) == [
        *(str(tmp_path / f"checkpoint-{step}") for step in (50, 200, 1000)),
        "gpt2+edit:a",
        "+8bit",
        "gpt2",
    ]
    assert listed([str(tmp_path / "checkpoint-50")]) == [str(tmp_path / "checkpoint-50")]
    assert listed([str(tmp_path / "logs")]) == [str(tmp_path / "logs")]
    states.write_text("# none\n")
    for bad in (f"@{states}", f"@{tmp_path / 'missing'}"):
        with pytest.raises(UsageError) as caught:
            listed([bad])
        assert caught.value.remedy
