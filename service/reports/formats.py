"""Formats of a report's table: text to read or paste, rows for programs, Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from thinkeval.service.errors import UsageError
from thinkeval.service.formatting import cell

if TYPE_CHECKING:
    import pandas as pd


def _markdown(frame: pd.DataFrame) -> str:
    header = [str(c) for c in frame.columns]
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell(v) for v in row) + " |" for row in frame.to_numpy().tolist()]
    return "\n".join(lines) + "\n"


def _latex(frame: pd.DataFrame) -> str:
    """Rows only, to paste below a header of one's own; a comment names the columns."""
    escape = str.maketrans({"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#"})
    lines = ["% " + " & ".join(str(c) for c in frame.columns)]
    for row in frame.to_numpy().tolist():
        lines.append(" & ".join(cell(v, "--").translate(escape) for v in row) + r" \\")
    return "\n".join(lines) + "\n"


def _csv(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False)


def _json(frame: pd.DataFrame) -> str:
    records = json.loads(frame.to_json(orient="records", double_precision=15) or "[]")
    return json.dumps(records, ensure_ascii=False, indent=2) + "\n"


FORMATS: dict[str, Callable[[pd.DataFrame], str]] = {
    "markdown": _markdown,
    "csv": _csv,
    "json": _json,
    "latex": _latex,
}
"""Formats that are text."""

PARQUET = "parquet"
"""The one that is not."""


def require_known(style: str, *, printed: bool) -> None:
    """Refuse a format that there is not, or that cannot be printed.

    Raises:
        UsageError: names what there is.
    """
    if style not in (*FORMATS, PARQUET):
        raise UsageError(
            f"{style!r} is not a table format.",
            remedy=f"Use one of {', '.join((*FORMATS, PARQUET))}.",
        )
    if printed and style == PARQUET:
        raise UsageError(
            "Parquet is a binary format and cannot be printed.",
            remedy="Write it to a file: thinkeval report -f parquet -o FILE.",
        )


def render(frame: pd.DataFrame, style: str) -> str:
    """The table as text; `style` is one of FORMATS.

    Raises:
        UsageError: it is not.
    """
    require_known(style, printed=True)
    return FORMATS[style](frame)


def parquet(frame: pd.DataFrame, caption: str = "") -> bytes:
    """The table as a Parquet file; pandas gives the caption back as `frame.attrs["caption"]`."""
    out = io.BytesIO()
    kept = frame.copy()
    kept.attrs["caption"] = caption
    kept.to_parquet(out, engine="pyarrow", index=False)
    return out.getvalue()
