"""Help of commands flows at the terminal's width, not the source's; options are in groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperCommand, TyperOption
from typer.testing import CliRunner

from thinkeval.loaders.formats import formats
from thinkeval.service.cli import main
from thinkeval.service.cli.main import app
from thinkeval.service.cli.options import FOLDED_FROM, PANELS, GroupWithDefault
from thinkeval.service.kinds import KINDS


def texts(group: typer.Typer) -> Iterator[str]:
    for command in group.registered_commands:
        yield command.help or ""
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from texts(inner.typer_instance)


TEN = (
    "demo", "import", "probe", "score", "compare", "report", "show", "sweep", "serve", "doctor",
)  # fmt: skip
GROUPS = ("results", "graph", "model", "lab", "db")


def test_the_root_has_ten_commands_and_all_others_are_in_one_group_each() -> None:
    root: Any = typer.main.get_command(app)
    assert tuple(root.commands) == TEN + GROUPS
    assert not [name for name in TEN if getattr(root.commands[name], "commands", None)]
    below = [name for group in GROUPS for name in root.commands[group].commands]
    assert len(below) == len(set(below)) > 25
    assert not set(below) & set(root.commands)


def test_the_help_of_import_names_every_format() -> None:
    root: Any = typer.main.get_command(app)
    (format,) = (each for each in root.commands["import"].params if each.name == "format")
    assert set(formats()) <= set(re.findall(r"\w+", format.help))


ROOT = Path(__file__).parents[4]
NAMED = re.compile(r'(?:`|\$ |<code>|^ *|(?<!b)")thinkeval ([a-z{][^\n`"<]*)', re.MULTILINE)


def named() -> Iterator[tuple[str, str]]:
    """Yield the commands that the code, the pages and the documentation name, with their file."""
    dated = ("changed-in", "decisions/", "results/")  # these say how a command was called then
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for room in ("service", "editing", "loaders"):
        files += [path for path in (ROOT / room).rglob("*") if path.suffix in (".py", ".html")]
    for file in files:
        name = str(file.relative_to(ROOT))
        if not any(part in name for part in dated):
            yield from ((name, words) for words in NAMED.findall(file.read_text("utf-8")))


def test_every_command_that_is_named_somewhere_exists() -> None:
    root: Any = typer.main.get_command(app)
    plurals = [kind.plural for kind in KINDS]
    found = list(named())
    assert len(found) > 300
    for file, text in found:
        for plural in plurals if "{{ kind.plural }}" in text else [""]:
            at, words = root, text.replace("{{ kind.plural }}", plural).split()
            while getattr(at, "commands", None) and words and re.fullmatch("[a-z-]+", words[0]):
                if isinstance(at, GroupWithDefault) and words[0] not in at.commands:
                    break
                assert words[0] in at.commands, (file, text)
                at = at.commands[words.pop(0)]


@pytest.mark.parametrize("args", [[], ["--help"]])
def test_the_program_alone_prints_its_commands_on_a_screen(
    args: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main.main(args)
    printed = capsys.readouterr()
    assert (ended.value.code, printed.err) == (0, "")
    assert len(printed.out.splitlines()) <= 40
    panels = re.split("─ (Options|Commands|Groups of commands) ─", printed.out)
    listed = {
        title: re.findall(r"│ ([a-z]\S*) ", text)
        for title, text in zip(panels[1::2], panels[2::2], strict=True)
    }
    assert listed["Commands"] == list(TEN)
    assert listed["Groups of commands"] == list(GROUPS)


@pytest.mark.parametrize("group", [*GROUPS, "graph grow", "results deltas"])
def test_a_group_alone_prints_its_help(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(group.split())
    printed = capsys.readouterr()
    assert (ended.value.code, printed.err) == (0, "")
    assert "Usage: " in printed.out


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("coedit", "`thinkeval lab coedit`?"),
        ("edits", "`thinkeval results edits`?"),
        ("leackut", "`thinkeval lab leakcut`"),
        ("scroe", "`thinkeval score`"),
        ("graph gro", "`thinkeval graph grow` or"),
        ("grow start", "`thinkeval graph grow`?"),
    ],
)
def test_a_mistyped_or_former_name_is_answered_by_the_path(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(typed.split())
    assert ended.value.code == 2
    assert f"Did you mean {meant}" in capsys.readouterr().err


def test_paragraphs_have_no_line_breaks_but_before_examples_and_items() -> None:
    found = list(texts(app))
    assert len(found) > 60
    assert all(found)
    flowing = [part for text in found for part in text.split("\n\n") if "\b" not in part]
    breaks = [line for part in flowing for line in re.findall(r"[^\n]\n([^\n]+)", part)]
    assert all(re.match(r"\s*(thinkeval |curl |\$ |[-*] |\d+\. )", line) for line in breaks), breaks


def grouped() -> Iterator[tuple[str, TyperCommand]]:
    """Commands whose options are shown by group."""

    def below(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, TyperCommand]]:
        nested = getattr(command, "commands", {})
        if not nested and len(options(command)) >= FOLDED_FROM:
            yield " ".join(path), command
        for name, each in nested.items():
            yield from below(each, (*path, name))

    yield from below(typer.main.get_command(app), ())


def options(command: TyperCommand) -> list[TyperOption]:
    return [each for each in command.params if isinstance(each, TyperOption)]


def test_every_option_of_a_large_command_is_in_a_group() -> None:
    """`score --help` was one box of 43 options in no visible order."""
    found = dict(grouped())
    assert {"score", "sweep", "lab coedit", "report", "graph grow start"} <= set(found)
    for name, command in found.items():
        without = [each.name for each in options(command) if not each.rich_help_panel]
        assert not without, f"{name}: {without} have no group: add them to cli/panels.py"
        panels = [str(each.rich_help_panel) for each in options(command)]
        order = [panel for panel in PANELS if panel in panels]
        assert list(dict.fromkeys(panels)) == order, name


def test_an_option_is_in_one_group_and_every_group_has_options() -> None:
    listed = [option for group in PANELS.values() for option in group]
    assert len(listed) == len(set(listed))
    used = {each.name for _, command in grouped() for each in options(command)}
    assert set(listed) - used <= {"help"}, "options that no command has"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("score",),
        (
            "graph",
            "grow",
        ),
        ("doctor",),
        ("graph", "rules", "list"),
        (
            "graph",
            "crawl",
        ),
    ],
)
def test_a_flag_is_shown_without_a_type(words: tuple[str, ...]) -> None:
    """`--force <bool>` would say that it takes a value."""
    text = CliRunner().invoke(app, [*words, "--help"]).output
    assert "--help" in text
    assert "bool" not in text


@pytest.mark.parametrize("name", TEN)
def test_help_fits_a_screen_and_help_all_has_every_option(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    command: Any = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    lines = CliRunner().invoke(app, [name, "--help"]).output.rstrip().splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    flags = {each.opts[0] for each in options(command)}
    shown = {flag for flag in flags if re.search(rf"│ (\* +)?{flag} ", "\n".join(lines))}
    more = f" More options: thinkeval {name} --help-all"
    assert (lines[-1].rstrip() == more) is (shown != flags)
    if shown != flags:
        assert len(shown) >= 5
        text = CliRunner().invoke(app, [name, "--help-all"]).output
        assert "More options" not in text
        assert {flag for flag in flags if re.search(rf"│ (\* +)?{flag} ", text)} == flags


def test_help_of_score_is_shown_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = CliRunner().invoke(app, ["score", "--help-all"]).output
    titles = re.findall(r"─ ([A-Z][a-z ]+) ─", text)
    assert titles == [
        "Arguments", "Which edit or data", "Model", "Method", "Measurement", "Limits", "Run",
        "Output",
    ]  # fmt: skip
    assert "--help" in text.rpartition("Output")[2]
    assert max(len(line) for line in text.splitlines()) <= 80
