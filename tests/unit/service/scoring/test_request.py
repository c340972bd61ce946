"""The one request: its digests, the ids of edits, and the options that commands take from it."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import pytest

from thinkeval.editing.probe import settings
from thinkeval.loaders.records import RewriteRequest, digest
from thinkeval.service.base.errors import UsageError
from thinkeval.service.cli.options import MeasureName, edit_options
from thinkeval.service.cli.score import score
from thinkeval.service.cli.sweep import sequence, sweep
from thinkeval.service.models import edit
from thinkeval.service.models.edit import EditIn, EditOptions
from thinkeval.service.models.experiment import SweepIn
from thinkeval.service.models.options import flags_of, option_of
from thinkeval.service.scoring.request import (
    ScoreRequest,
    SequenceStep,
    body_digest,
    posted_id,
    probe_settings,
)
from thinkeval.service.scoring.score import edit_id_of

REWRITE = RewriteRequest(
    id="harry-potter--studied-at--beauxbatons-academy",
    dataset="hogwarts",
    prompt="{} studied at",
    subject="Harry Potter",
    relation="studied at",
    target_true="Hogwarts School of Witchcraft and Wizardry",
    target_new="Beauxbatons Academy",
    question="Where did Harry Potter study?",
    paraphrases=("{} went to school at",),
)
ALL: dict[str, Any] = {
    "model": "organism:llama:seed=2", "method": "memit", "revision": "main", "hparams": "gpt2-xl",
    "overrides": {"v_lr": 0.5, "layers": [3, 4]}, "covariance": "imported", "seed": 7,
    "organism_seed": 3, "strength": 0.5, "generate": True, "max_steps": 3, "bare": "exclude",
    "threshold": 0.1, "unit": "record", "samples": 0, "ask": "question", "paraphrases": True,
    "chat": "never", "dtype": "bfloat16",
}  # fmt: skip

# Of version 0.3.1 of the numbers; stored edits and sweeps have these ids.
SUBMITTED = [
    ({}, "50ff5fb9b00a0b66", "rome-harry-potter-b7e56cae46"),
    ({"force": True}, "50ff5fb9b00a0b66", "rome-harry-potter-b7e56cae46"),
    ({"implications": True}, "82b1e1c502406b1d", "rome-harry-potter-201ae5e9b5"),
    ({"parallel": "before"}, "50ff5fb9b00a0b66", "rome-harry-potter-b7e56cae46"),
    ({"conversation": False}, "50ff5fb9b00a0b66", "rome-harry-potter-b7e56cae46"),
    ({"max_new_tokens": 16}, "50ff5fb9b00a0b66", "rome-harry-potter-b7e56cae46"),
    (ALL, "ae302fbcb0f0f9e7", "memit-harry-potter-76e2aa2998"),
]
# Of the third protocol of sampled answers: the longest name of the graph is meant.
SCORED = [
    ({}, "0c58a1cb9b0655ec", "rome-harry-potter-e4b9ca2773", "rome-harry-potter-ce2bc9db1c"),
    (
        {"conversation": False},
        "0c58a1cb9b0655ec", "rome-harry-potter-e4b9ca2773", "rome-harry-potter-ce2bc9db1c",
    ),
    (ALL, "8f9dcdc51e024dcb", "memit-harry-potter-b53efbb5d8", "memit-harry-potter-36a208836a"),
]  # fmt: skip
SWEEPS = [
    ({"methods": ["none", "rome"]}, "4a029e99b7b65e79"),
    (
        {
            "methods": ["rome"], "seeds": [0, 1], "implications": True, "covariance": "imported",
            "force": True,
        },
        "9c8d0065c88fb70e",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected", "name"), SUBMITTED)
def test_submitted_edits_keep_their_ids(body: dict[str, Any], expected: str, name: str) -> None:
    edit = EditIn.model_validate({"graph": "hogwarts", "rewrite": REWRITE.id} | body)
    assert body_digest(edit, REWRITE) == expected
    assert posted_id(edit, REWRITE, "0123456789abcdef") == name


@pytest.mark.parametrize(("body", "probe", "alone", "last"), SCORED)
def test_scored_edits_keep_their_ids(
    body: dict[str, Any], probe: str, alone: str, last: str
) -> None:
    edit = EditIn.model_validate({"graph": "hogwarts", "rewrite": REWRITE.id} | body)
    request = ScoreRequest.of(REWRITE, edit)
    assert request.probe.digest == probe
    identity: dict[str, object] = {
        "probe": probe,
        "options": request.options.digested(),
        "seed": request.seed,
        "hparams": request.overrides,
    }
    step = SequenceStep((REWRITE, REWRITE), 2, "end", pytest.fail)
    assert edit_id_of(request, identity) == alone
    assert edit_id_of(request, identity, step) == last


@pytest.mark.parametrize(("body", "expected"), SWEEPS)
def test_sweeps_keep_their_ids(body: dict[str, Any], expected: str) -> None:
    sweep_ = SweepIn.model_validate({"graph": "hogwarts"} | body)
    assert digest(sweep_.digested()) == expected


def test_an_option_is_digested_only_where_it_is_set() -> None:
    asked = EditIn(rewrite="x", implications=True, samples=5, force=True)
    assert asked.digested() == {"rewrite": "x", "implications": True}


def test_a_score_request_has_the_options_of_the_edit_and_no_other() -> None:
    edit = EditIn.model_validate({"rewrite": REWRITE.id} | ALL)
    request = ScoreRequest.of(REWRITE, edit)
    assert {name: getattr(request, name) for name in EditOptions.model_fields} == {
        name: getattr(edit, name) for name in EditOptions.model_fields
    }
    assert request.rewrite is REWRITE
    assert ScoreRequest.of(REWRITE, request, seed=9).seed == 9
    with pytest.raises(TypeError, match="sed"):
        ScoreRequest.of(REWRITE, edit, sed=9)


def test_a_command_takes_every_option_of_the_request_from_its_model() -> None:
    taken = inspect.signature(score).parameters
    for name, field in EditOptions.model_fields.items():
        assert (name in taken) == option_of(field).command, name
        if name not in taken or name in ("method", "overrides", "hparams"):  # repeatable
            continue
        parameter = taken[name]
        assert parameter.default == field.get_default(call_default_factory=True), name
        info = get_args(parameter.annotation)[-1]
        assert info.help == (option_of(field).help or field.description), name
        assert (info.default, *(info.param_decls or ())) == flags_of(name, field), name
    assert inspect.signature(sweep).parameters["samples"].default == 0
    assert inspect.signature(sequence).parameters["method"].default == "alphaedit"


def test_the_command_line_has_none_of_the_limits_of_the_service() -> None:
    options = edit_options(
        {"samples": 5000, "covariance": "texts.txt", "hparams": "a/file.json", "seed": 2**40}
    )
    assert (options.samples, options.covariance, options.seed) == (5000, "texts.txt", 2**40)
    assert probe_settings(options, 0).samples == 5000


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"bare": "some"}, "--bare 'some' is unknown"),
        ({"ask": "song"}, "--ask 'song' is unknown"),
        ({"threshold": 1.0}, "--threshold 1.0 is out of range"),
        ({"strength": 0.0}, "--strength 0.0 is out of range"),
        ({"overrides": ["v_lr"]}, "not key=value"),
    ],
)
def test_a_value_that_the_request_does_not_have_is_refused(
    given: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        edit_options(given)


def test_without_samples_only_the_exact_measures_are_taken() -> None:
    assert probe_settings(EditOptions(samples=0), 0).measures == ("likelihood", "likelihood_norm")
    assert probe_settings(EditOptions(samples=2), 0).measures == edit.MEASURES


def test_longer_answers_are_another_probe_of_another_edit() -> None:
    short, long = (EditIn(rewrite=REWRITE.id, max_new_tokens=n) for n in (16, 40))
    assert probe_settings(long, 0).max_new_tokens == 40
    assert probe_settings(long, 0).digest != probe_settings(short, 0).digest
    assert body_digest(long, REWRITE) != body_digest(short, REWRITE)


def test_there_is_one_list_of_measures() -> None:
    assert edit.Measure == settings.Measure
    assert edit.MEASURES == settings.MEASURES == tuple(MeasureName)
