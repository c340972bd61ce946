"""The choice of chat or plain text is kept in the cache; a damaged file is measured again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from thinkeval.service.scoring.chat import ChatChosen, _kept

CHOSEN = ChatChosen("plain", 0.1, 0.4, 8, 20, known=True, reasoning_closed=False)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff\xfe", b'{"way": "plain"}'])
def test_a_damaged_choice_is_measured_again_and_replaced(tmp_path: Path, damage: bytes) -> None:
    runtime: Any = SimpleNamespace(settings=SimpleNamespace(cache=tmp_path))
    measured: list[int] = []

    def measure() -> ChatChosen:
        measured.append(1)
        return CHOSEN

    for _ in range(2):
        assert _kept(runtime, ("graph", "model"), measure) == CHOSEN
    assert len(measured) == 1
    (path,) = (tmp_path / "chat").iterdir()
    path.write_bytes(damage)
    for _ in range(2):
        assert _kept(runtime, ("graph", "model"), measure) == CHOSEN
    assert len(measured) == 2
