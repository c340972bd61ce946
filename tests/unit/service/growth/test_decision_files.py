"""Files of decisions and of counts: read as UTF-8, with or without a mark at the beginning."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkeval.service.errors import UsageError
from thinkeval.service.growth.review.decision_files import text_of


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_text_of_a_file(tmp_path: Path, mark: bytes) -> None:
    (tmp_path / "counts.csv").write_bytes(mark + "iteration,tp\n1,é\n".encode())
    assert text_of(tmp_path / "counts.csv") == "iteration,tp\n1,é\n"


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("é".encode("latin-1"))
    for name in ("latin.csv", "missing.csv"):
        with pytest.raises(UsageError, match=name):
            text_of(tmp_path / name)
