"""Texts of a leakage map: never wider than their place, by the widths of the figures' font."""

from __future__ import annotations

import string

import pytest

from thinkeval.service.reports.leakage_map import ELLIPSIS, text_width, wrapped

TEXTS = [
    "Albus Percival Wulfric Brian Dumbledore of Hogwarts", "Finley Aaron Love Lockwood",
    "is the mother of", "a" * 90, "WWWW MMMM @@@@", "漢字" * 20, "Ünïcödé ĶŁ", "x", "",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [60.0, 106.0])
def test_no_line_is_wider_than_its_place(text: str, width: float) -> None:
    found = wrapped(text, width, 11.5, 3)
    assert 1 <= len(found) <= 3
    assert all(text_width(line, 11.5) <= width for line in found)
    whole = "".join(found).replace(" ", "")
    said = text.replace(" ", "")
    assert said == whole or (whole.endswith(ELLIPSIS) and said.startswith(whole[:-1]))


def test_lines_are_of_about_the_same_length() -> None:
    assert wrapped("Finley Aaron Love Lockwood", 120, 11.5, 3) == ("Finley Aaron", "Love Lockwood")
    assert (
        wrapped("Ilvermorny School of Witchcraft and Wizardry", 106, 11, 2)[-1] == "of Witchcraft …"
    )
    assert wrapped("is the mother of", 98, 11, 2) == ("is the mother of",)


def test_widths_are_not_below_those_of_the_figures_font() -> None:
    pytest.importorskip("matplotlib")
    import matplotlib
    from matplotlib.ft2font import FT2Font, LoadFlags

    font = FT2Font(f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf")
    font.set_size(1000, 72)
    for letter in string.printable[:95] + "→…é":
        glyph = font.load_char(ord(letter), flags=LoadFlags.NO_HINTING)
        real = glyph.linearHoriAdvance / 65536 / 1000
        assert text_width(letter, 1.0) >= real * 0.94, letter
