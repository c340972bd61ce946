"""Methods by kind of request, their inputs, and files of texts to retain."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkeval.editing import registry
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.base.errors import UsageError
from thinkeval.service.scoring import forget
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.sweep import Sweep, tasks

NEW = RewriteRequest("a", "g", "{} studied at", "Harry", "studied at", "Hogwarts", "Ilvermorny")
OLD = RewriteRequest("b", "g", "{} studied at", "Harry", "studied at", "Hogwarts", "")
FORGETTING = {"gradient_ascent", "npo", "rmu"}


def test_a_method_that_writes_is_given_the_refusal() -> None:
    for method in ("rome", "memit", "none"):
        request = ScoreRequest.of(OLD, method=method, refusal="no idea")
        assert forget.with_refusal_target(OLD, request).target_new == "no idea"
        assert forget.with_refusal_target(NEW, request) is NEW
    for method in FORGETTING:
        assert forget.with_refusal_target(OLD, ScoreRequest.of(OLD, method=method)) is OLD


@pytest.mark.parametrize("method", sorted(FORGETTING))
def test_a_method_that_forgets_is_refused_where_it_should_install(method: str) -> None:
    with pytest.raises(UsageError, match=method) as caught:
        forget.check(NEW, ScoreRequest.of(NEW, method=method))
    assert "--forget" in (caught.value.remedy or "")
    assert "memit" in (caught.value.remedy or "")
    forget.check(OLD, ScoreRequest.of(OLD, method=method))
    with pytest.raises(UsageError, match=method):
        tasks(Sweep(ScoreRequest.of(NEW), (OLD, NEW), ("memit", method)))


def test_default_methods_of_a_sweep_fit_its_rewrites() -> None:
    every = registry.names()
    assert set(every) - set(forget.methods_for([NEW], every)) == FORGETTING
    assert forget.methods_for([OLD], every) == every


def test_a_file_is_read_by_line(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text('{"prompt": "France is in ", "answer": "Europe"}\n\n')
    assert forget.read(path) == (("France is in", "Europe"),)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"prompt": "a"}', '{"prompt": "a", "answer": 1}'])
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"kept\.jsonl"):
        forget.read(path)
    with pytest.raises(UsageError, match="cannot be read"):
        forget.read(tmp_path / "none.jsonl")


@pytest.mark.parametrize("name", ["kept.jsonl", "/etc/passwd", "a\\b"])
def test_a_file_is_refused_over_rest(name: str) -> None:
    with pytest.raises(UsageError, match="file"):
        forget.require_stored(name)
    forget.require_stored("hogwarts")
