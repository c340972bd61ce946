"""Options that the commands of `thinkeval depedit` share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

DatasetOption = Annotated[
    str | None, typer.Option("--graph", "-g", help="Only sets built from this graph.")
]


class SettingName(StrEnum):
    """How questions are worded."""

    cq_dt = "CQ_DT"
    cq_ut = "CQ_UT"
    icq_dt = "ICQ_DT"


SettingOption = Annotated[
    SettingName | None, typer.Option(help="Only sets in this setting.", case_sensitive=False)
]
