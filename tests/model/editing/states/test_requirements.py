"""Packages that a state needs are looked for before its model is loaded."""

from __future__ import annotations

import sys

import pytest

from thinkeval.editing.errors import MissingExtraError
from thinkeval.service.states.opened import require_packages
from thinkeval.service.states.spec import parse


@pytest.mark.parametrize(
    ("word", "absent"), [("m+8bit", "torchao.quantization"), ("m+adapter:a", "peft")]
)
def test_an_absent_package_is_named_without_a_model(
    word: str, absent: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingExtraError, match=absent):
        require_packages(parse(word), "cpu")
