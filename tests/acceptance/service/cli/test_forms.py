"""Forms at the command line: the unedited model's table, and an edit asked in other ways."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.commands import Cli, Done, Mine

PLAIN = ("--samples", "0", "--chat", "never")


def test_probe_says_in_which_forms_the_model_is_right(thinkeval: Cli, mine: Mine) -> None:
    args = ["probe", mine.graph, "--model", mine.model, *PLAIN]
    args += ["--forms", "question,chat_prefill", "--forms", "negated"]
    found = {each["form"]: each for each in thinkeval(*args, "--json").json["forms"]}
    assert list(found) == [
        "cloze/0-shot", "chat_prefill/chat", "negated/0-shot", "question/0-shot", "question/3-shot",
    ]  # fmt: skip
    cloze = found["cloze/0-shot"]
    assert cloze["measurable"]
    assert cloze["accuracy"] > 0.9
    assert cloze["low"] > cloze["chance"]
    assert cloze["tokens"] == 1
    chat = found["chat_prefill/chat"]
    assert (chat["n"], chat["measurable"]) == (0, False)
    assert list(chat["left_out"]) == ["the model has no chat template"]
    assert found["negated/0-shot"]["accuracy"] is None
    shown = thinkeval(*args).out
    assert "Forms of asking: the unedited model" in shown
    assert "not asked: the model has no chat template" in " ".join(shown.split())


def test_an_edit_is_asked_in_other_ways(thinkeval: Cli, mine: Mine) -> None:
    args = ["score", "harry-potter--studied-at", "-g", mine.graph, "--model", mine.model]
    args += ["-m", "none", *PLAIN, "--no-side-effects", "--forms", "fact_check"]
    (score,) = thinkeval(*args, "--json").json
    assert [each["form"] for each in score["forms"]] == [
        "cloze/0-shot", "fact_check/true", "fact_check/false", "fact_check/difference",
    ]  # fmt: skip
    for each in score["forms"]:
        assert (each["margin"], each["wins"]) == (each["margin_pre"], each["wins_pre"])
        assert each["protocol"].startswith(each["form"])
    assert "Asked in other ways" in thinkeval(*args).out


@pytest.mark.parametrize("command", ["probe", "score"])
def test_a_form_that_does_not_exist_is_refused(
    at_once: Callable[..., Done], mine: Mine, command: str
) -> None:
    where = [mine.graph] if command == "probe" else ["harry-potter--studied-at", "-g", mine.graph]
    done = at_once(command, *where, "--model", mine.model, "--forms", "negatd")
    assert done.code == 2
    assert "There is no form 'negatd'." in done.err
    assert "Did you mean 'negated'?" in done.err
