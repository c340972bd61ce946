"""Context templates are kept in the cache by all that they depend on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from thinkeval.service.scoring.templates import FOLDER, keep, key_of, stored

GROUPS = (("{}",), ("The sea. {}", "I went. {}"))


def runtime_of(cache: Path) -> Any:
    return SimpleNamespace(settings=SimpleNamespace(cache=cache), templates={})


@dataclass(frozen=True)
class Hparams:
    context_template_length_params: Any = ((5, 10),)
    context_templates: tuple[str, ...] = ()


def model_of(**info: str) -> Any:
    known = {"digest": "d", "dtype": "float32", "device": "cpu"} | info
    return SimpleNamespace(loaded=SimpleNamespace(info=SimpleNamespace(**known)))


def test_another_process_finds_them(tmp_path: Path) -> None:
    first = runtime_of(tmp_path)
    assert stored(first, "k") is None
    keep(first, "k", GROUPS)
    assert stored(runtime_of(tmp_path), "k") == GROUPS
    assert stored(runtime_of(tmp_path), "other") is None
    keep(first, None, GROUPS)
    keep(first, "without", ())
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == ["k.json"]


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"\xff\xfe", b'{"templates": [["{}"]], "digest": "x"}', b"[" * 100_000],
)
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: bytes) -> None:
    keep(runtime_of(tmp_path), "k", GROUPS)
    path = tmp_path / FOLDER / "k.json"
    path.write_bytes(damage)
    later = runtime_of(tmp_path)
    assert stored(later, "k") is None
    keep(later, "k", GROUPS)
    assert stored(runtime_of(tmp_path), "k") == GROUPS


def test_an_edit_does_not_fail_where_the_cache_cannot_be_written(tmp_path: Path) -> None:
    cache = tmp_path / "file"
    cache.write_text("")
    runtime = runtime_of(cache)
    keep(runtime, "k", GROUPS)
    assert stored(runtime, "k") == GROUPS
    assert stored(runtime_of(cache), "k") is None


def test_the_key_changes_with_all_that_they_depend_on() -> None:
    own = Hparams()
    keys = [
        key_of(model_of(), "memit", own, 0),
        key_of(model_of(digest="e"), "memit", own, 0),
        key_of(model_of(dtype="tf32"), "memit", own, 0),
        key_of(model_of(device="cuda:0"), "memit", own, 0),
        key_of(model_of(), "rome", own, 0),
        key_of(model_of(), "memit", replace(own, context_template_length_params=((5, 5),)), 0),
        key_of(model_of(), "memit", replace(own, context_templates=("So {}",)), 0),
        key_of(model_of(), "memit", own, 1),
    ]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert key_of(model_of(), "memit", Hparams(), 0) == keys[0]
    assert key_of(model_of(), "ike", SimpleNamespace(), 0) is None
