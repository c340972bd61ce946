"""The driver is imported without pandas and pyarrow by our own programs alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from thinkeval.cypher.driver_tables import leave_out_tables
{first}
from thinkeval.cypher.driver import neo4j
print(*[name in sys.modules for name in ("pandas", "pyarrow")])
import pandas, pyarrow
from neo4j import _optional_deps
print(_optional_deps.pd is not None)
"""


@pytest.mark.parametrize(
    ("first", "loaded", "accepted"),
    [
        ("leave_out_tables()", "False False", "False"),
        ("", "True True", "True"),
        ("import pandas, pyarrow; leave_out_tables()", "True True", "True"),
    ],
    ids=["a program of ours", "a notebook", "loaded before"],
)
def test_libraries_of_tables_are_left_out_by_programs_alone(
    first: str, loaded: str, accepted: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(first=first)], capture_output=True, text=True
    )
    assert ran.stdout.splitlines() == [loaded, accepted], ran.stderr
