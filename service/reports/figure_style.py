"""Appearance of every figure, and its encoding: the same bytes for the same numbers.

Colours have the hues of Okabe and Ito, which colour-blind readers tell apart; every colour has a
marker and a dash pattern beside it, so that a figure survives a grey printer. Only `Figure` objects
are made, never pyplot's; matplotlib is imported when the first one is.
"""

from __future__ import annotations

import io
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..base.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Format = Literal["png", "svg", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
MEDIA_TYPES: dict[str, str] = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
}

BLUE, RED, INK, MUTED = "#0072B2", "#D55E00", "#1a1a1a", "#6e6e6e"
"""Subject, old object, present, cut."""

GREEN, PURPLE = "#00755a", "#7b2fb5"
"""New object, and further facts to edit."""

RETENTION = ("#8a929c", "#9a7412", "#cc5a00", "#c2261c", "#8f0a55")
"""Colours of the classes of retention (`leakage_map.svg.BANDS`): lightness falls with retention, so
that colour-blind readers and grey printers tell them apart."""

COLOURS = ("#0072B2", "#D55E00", "#00805C", "#B8578F", "#2B8CBE", "#A87400", "#000000")
"""Okabe and Ito's hues, the light ones darkened until each has a contrast of 3 : 1 on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.2)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)

METHODS = (
    "rome", "memit", "alphaedit", "fine_tuning", "mend", "rect", "prune", "kn", "ike",
    "random_delta", "none", "ultraedit",
)  # fmt: skip
"""The order by which methods get colour, marker and dashes: the same in every figure and chart."""


def places(names: Iterable[str]) -> dict[str, int]:
    """The place of each method in COLOURS, MARKERS and DASHES, whichever others are drawn.

    A method that is not in METHODS, such as a plug-in's, takes a place after these by its name.
    """
    known = {name: place for place, name in enumerate(METHODS)}
    others = sorted(set(names) - known.keys())
    return known | {name: len(METHODS) + i for i, name in enumerate(others)}


def looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour, marker and dashes of methods, as matplotlib takes them."""
    return {
        name: {
            "color": COLOURS[place % len(COLOURS)],
            "marker": MARKERS[place % len(MARKERS)],
            "linestyle": DASHES[place % len(DASHES)],
        }
        for name, place in places(names).items()
    }


STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e2e2e2",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "thinkeval",
    "text.parse_math": False,  # a name may hold a $
    "savefig.facecolor": "white",
}

CAPTION_PT, LINE_IN = 7.5, 0.155
"""Size of a caption's letters, and height of its lines in inches."""

_LOCK = threading.Lock()
"""matplotlib's settings and fonts are global; the service draws in several threads."""


@contextmanager
def styled() -> Iterator[None]:
    """Our settings, whatever the user's matplotlibrc says, one thread at a time."""
    import matplotlib
    from matplotlib import style

    with _LOCK, warnings.catch_warnings(), matplotlib.rc_context():
        # A name in a script that the font lacks is drawn as boxes; that is no error.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        style.use(["default", STYLE])
        yield


def figure_format(path: Path) -> str:
    """Return the format of a figure's file, by its ending.

    Raises:
        UsageError: it is none of FORMATS.
    """
    fmt = path.suffix.lstrip(".").lower()
    if fmt not in FORMATS:
        raise UsageError(
            f"{path} has no format of figures.", remedy="Let it end in .svg, .pdf or .png."
        )
    return fmt


def encode(draw: Callable[[], Figure], fmt: str, title: str) -> bytes:
    """The figure that `draw` makes, as a file of this format.

    Raises:
        UsageError: `fmt` is none of FORMATS.
    """
    if fmt not in FORMATS:
        raise UsageError(
            f"{fmt!r} is not a format of figures.", remedy=f"Use one of {', '.join(FORMATS)}."
        )
    # Metadata that differ from one run to the next, or describe the machine, are left out.
    nothing = {
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    out = io.BytesIO()
    with styled():
        draw().savefig(out, format=fmt, dpi=160, metadata={"Title": title, **nothing[fmt]})
    return out.getvalue()


def new_figure(
    width: float, height: float, title: str, caption: str
) -> tuple[Figure, float, float]:
    """An empty figure with its title above and its caption below, where they are not empty.

    Args:
        width: in inches; title and caption are wrapped to it.
        height: of the drawing between the two, in inches.

    Returns:
        The figure, and where the space for drawing begins and ends, as fractions of its height.
    """
    from matplotlib.figure import Figure

    heading = wrapped(title, width, 10.5, bold=True)
    below = wrapped(caption, width, CAPTION_PT)
    top = 0.16 + 0.2 * (heading.count("\n") + 1) if title else 0.0
    bottom = 0.12 + LINE_IN * (below.count("\n") + 1) if caption else 0.0
    whole = top + height + bottom
    figure = Figure(figsize=(width, whole))
    edge = 0.12 / width
    figure.text(edge, 1 - 0.1 / whole, heading, va="top", fontsize=10.5, weight="bold", color=INK)
    figure.text(edge, 0.08 / whole, below, va="bottom", fontsize=CAPTION_PT, color="#444444",
                linespacing=1.3)  # fmt: skip
    return figure, bottom / whole, 1 - top / whole


def wrapped(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """The text in lines that fit `width` inches in letters of `size` points."""
    letters = max(16, int((width - 0.24) * 72 / ((0.63 if bold else 0.535) * size)))
    return "\n".join(textwrap.fill(line, letters) for line in text.splitlines())


def in_words(title: str, reason: str, caption: str = "") -> Figure:
    """A figure that says why there is nothing to draw."""
    figure, bottom, top = new_figure(6.4, 1.2, title, caption)
    text = "\n".join(textwrap.wrap(reason, 70))
    figure.text(0.5, (bottom + top) / 2, text, ha="center", va="center", color=INK)
    return figure


def short(name: str, width: int, lines: int = 3) -> str:
    """A name broken into at most so many lines of `width` letters; the rest is an ellipsis."""
    return "\n".join(textwrap.wrap(name, width, max_lines=lines, placeholder=" …"))
