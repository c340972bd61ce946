"""Tables in a terminal, at a given width and in a pipe: identifiers are never broken."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from support.terminal import on_terminal
from thinkeval.service.base.formatting import signed
from thinkeval.service.cli import output
from thinkeval.service.reports.formats import Column, Table, render

ID = "rome-neville-longbottom--has-grandmother--augusta-longbottom-0123456789ab"


@dataclass(frozen=True)
class Item:
    """A row of the tables below."""

    id: str
    text: str
    value: float | None
    note: str | None = None


ITEMS = [
    Item(ID, "surviving chains of Neville Longbottom", 0.25, "a [bold] note"),
    Item("short", "Hogwarts School of Witchcraft and Wizardry", None),
]
COLUMNS: list[Column[Item]] = [
    Column("item", lambda i: i.id, whole=True),
    Column("text", lambda i: i.text),
    Column("value", lambda i: i.value, signed),
    Column("note", lambda i: i.note, optional=1),
]
Shown = Callable[..., str]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shown:
    """Prints a table and returns what stands on standard output."""

    def show(columns: str | None, rows: list[Item] = ITEMS, note: str = "") -> str:
        if columns is None:
            monkeypatch.delenv("COLUMNS", raising=False)
        else:
            monkeypatch.setenv("COLUMNS", columns)
        output.emit_table(Table("items", "Items", COLUMNS, rows, note))
        return capsys.readouterr().out

    return show


def test_a_pipe_gets_plain_lines_one_a_row(shown: Shown) -> None:
    lines = shown(None, note="the note " * 40).splitlines()
    assert lines[0] == "Items"
    assert lines[1].split() == ["item", "text", "value", "note"]
    assert re.split(" {2,}", lines[2]) == [ID, ITEMS[0].text, "+0.250", "a [bold] note"]
    assert lines[3].startswith("short  ")
    assert lines[3].endswith("–")
    assert lines[4].strip() == ("the note " * 40).strip()
    assert len(lines) == 5


def test_rules_of_numbers_are_in_files_and_printed_on_demand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = Table("items", "Items", COLUMNS, ITEMS, "1 item changed.", rules="Value: a mean.")
    output.emit_table(table, protocol=False)
    text = capsys.readouterr().out
    assert "1 item changed." in text
    assert "Value: a mean." not in text
    output.emit_table(table)
    assert "1 item changed. Value: a mean." in capsys.readouterr().out
    for style in ("markdown", "latex"):
        assert "1 item changed. Value: a mean." in render(table, style)


@pytest.mark.parametrize("width", [40, 80, 100, 120, 200])
def test_a_table_fits_its_width_and_breaks_no_identifier(shown: Shown, width: int) -> None:
    text = shown(str(width))
    assert ID in text
    lines = text.splitlines()
    assert len({len(line) for line in lines if line[:1] in "┏┃┡│└"}) <= 1
    assert all(len(line) <= width or line == ID for line in lines)
    words = {word for item in ITEMS for word in item.text.split()}
    assert words <= set(text.replace(",", " ").split())


def test_a_narrow_terminal_omits_columns_and_names_them(shown: Shown) -> None:
    assert "Omitted" not in shown("200")
    assert "Omitted for lack of width: note (--json has all)." in shown("105")
    rows = shown("80").splitlines()[1:]
    assert rows[:2] == [ID, f"  text {ITEMS[0].text}, value +0.250, note a [bold] note"]
    assert rows[2:] == ["short", f"  text {ITEMS[1].text}, value –, note –"]


def test_optional_columns_are_omitted_by_level_before_texts_are_narrowed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six lines of a name in a narrow column left no room for others."""
    columns: list[Column[Item]] = [
        Column("name", lambda i: i.text),
        Column("one", lambda _: 0.5, optional=1),
        Column("two", lambda _: 0.5, optional=2),
        Column("three", lambda _: 0.5, optional=2),
    ]
    for width, omitted in ((60, ""), (43, "two, three"), (30, "one, two, three")):
        monkeypatch.setenv("COLUMNS", str(width))
        output.emit_table(Table("items", "Items", columns, ITEMS))
        text = " ".join(capsys.readouterr().out.split())
        assert ("Omitted for lack of width: " in text) is bool(omitted)
        assert f"Omitted for lack of width: {omitted} (" in text or not omitted
        assert "│ Hogwarts School of" in text


def test_prose_ends_its_lines_between_words(shown: Shown) -> None:
    """A note of 450 characters was one line, which a terminal breaks inside words."""
    note = "measure: likelihood; chains of ≤ 5 facts, " * 9
    lines = shown("105", note=note).splitlines()
    assert max(len(line) for line in lines if line[:1] not in "┏┃┡│└") <= 105
    assert note.split() == " ".join(lines).partition("has all). ")[2].split()


def test_an_empty_table_is_one_line(shown: Shown) -> None:
    assert shown("80", []) == "Items: none\n"
    assert shown(None, [], "none yet") == "Items: none yet\n"


def test_a_panel_has_no_frame_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    output.emit_panel("Chains", ["one", "two"], note="showing 2 of 3")
    assert capsys.readouterr().out == "Chains\none\ntwo\nshowing 2 of 3\n"
    monkeypatch.setenv("COLUMNS", "40")
    output.emit_panel("Chains", ["one", "two"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("╭─ Chains ─")
    assert {len(line) for line in lines} == {40}


def test_an_encoding_that_lacks_a_character_gets_its_escape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tables, notes and JSON alike, also beyond the first 65,536 characters of Unicode."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    output.print_unencodable()
    output.emit_note("IFR ≤ .1 in Zürich")
    output.emit_values("Names", {"Wrocław": "𝔸 →"})
    output.emit_json({"name": "Łódź 𝔸 é"})
    sys.stdout.flush()
    text = raw.getvalue().decode("latin-1")
    assert r"IFR \u2264 .1 in Zürich" in text
    assert r"Wroc\u0142aw" in text
    assert json.loads(text[text.index("{") :]) == {"name": "Łódź 𝔸 é"}


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_help_in_a_narrow_encoding(encoding: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from thinkeval.service.cli import main as cli; cli.main(['compare', '-h'])",
        ],
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"thinkeval compare" in done.stdout


def test_long_work_writes_lines_where_no_bar_is_drawn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stage that a command names, and progress after some seconds without a line."""
    now = [100.0]
    monkeypatch.setattr(output, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for lines in (True, False):
        with output.ProgressBars(lines=lines) as progress:
            for after, work in (
                (0, lambda: progress.line("1 of 2: rome begins")),
                (1, lambda: progress(8, 64, "likelihood")),
                (9, lambda: progress(16, 64, "likelihood")),
                (1, lambda: progress(24, 64, "likelihood")),
                (5, lambda: progress(1, 2, "edits")),
                (0, lambda: progress(0, 1, "editing with rome")),
            ):
                now[0] += after
                work()
        found = capsys.readouterr()
        assert found.out == ""
        assert found.err.splitlines() == lines * [
            "   0.0 s  1 of 2: rome begins",
            "  10.0 s    likelihood: 16 of 64",
            "  16.0 s    editing with rome",
        ]


def test_bars_leave_every_line_of_other_output_on_the_terminal() -> None:
    """Also what is printed between two drawings of the bars, and a line in parts."""
    printed = [f"line {n}" for n in range(60)]
    with on_terminal(80) as lines, output.ProgressBars() as progress:
        for n, line in enumerate(printed):
            progress(n, 60, "edits")
            progress(n, 60, "likelihood")
            if n % 3 == 0:
                sys.stdout.write(line.partition(" ")[0])
                progress(n, 60, "edits")
                sys.stdout.write(line.removeprefix("line") + "\n")
            elif n % 3 == 1:
                output.notice(line)
            else:
                output.emit_note(line)
            output.emit_table(Table("items", "Items", COLUMNS, ITEMS))
    assert [line for line in lines if line.startswith("line ")] == printed
    assert sum(line == ID for line in lines) == 60
    assert not any("edits" in line for line in lines)
    assert not isinstance(sys.stdout, output._Pausing)


def test_a_long_command_is_continued_between_its_arguments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = 'thinkeval score -g hogwarts --forget "Draco Malfoy|studied at|X" --seed 4'
    monkeypatch.setenv("COLUMNS", "40")
    output.emit_command(command)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert shlex.split(" ".join(lines).replace("\\ ", " ")) == shlex.split(command)
