"""docs/reference/cli.md: every command with its arguments and options, by group."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from typer.main import get_command

from reference_pages.markdown import anchor, blocks, cell, code, fence, help_text, inline, table
from thinkeval.service.cli.codes import CODES, OWN_CODES
from thinkeval.service.cli.main import app

TYPES = {"str": "text", "int": "whole number", "float": "number", "Path": "path", "bool": "flag"}

PLAIN = "Options"
"""Title of the options of a command with few of them."""


@dataclass(frozen=True)
class Described:
    """A command and its panel: that of the ten commands, or its group, such as `graph`."""

    name: str
    panel: str
    command: Any


def commands() -> list[Described]:
    """Every command that can be called: the ten of the root, then each group's.

    A hidden command is what its group does without a subcommand; it has the group's name.
    """
    found: list[Described] = []

    def walk(command: Any, name: str, panel: str) -> None:
        inner = getattr(command, "commands", None) or {}
        if not inner or getattr(command, "invoke_without_command", False):
            found.append(Described(name, panel, command))
        found.extend(Described(name, panel, each) for each in inner.values() if each.hidden)
        for child, each in inner.items():
            if not each.hidden:
                walk(each, f"{name} {child}", panel)

    root = get_command(app)
    for name, each in getattr(root, "commands", {}).items():
        panel = f"`{name}`" if getattr(each, "commands", None) else each.rich_help_panel
        walk(each, f"thinkeval {name}", panel)
    panels = list(dict.fromkeys(each.panel for each in found))
    return sorted(found, key=lambda each: panels.index(each.panel))


def page() -> str:
    """The Markdown: a table of commands by panel, exit codes, then one section a command."""
    found = commands()
    parts = [
        "# Command line",
        f"The {len(found)} commands of `thinkeval`, each with its arguments, options, defaults and"
        " exit codes.",
        "`thinkeval COMMAND --help` prints the same on a terminal, and"
        " `thinkeval --install-completion` sets up completion in the shell. Results go to standard"
        " output, progress and errors to standard error. An option that may be repeated is marked."
        " Settings that hold for every command are [environment variables](settings.md).",
        "## Exit codes",
        table(("Code", "Meaning"), ((code(value), cell(text)) for value, text in CODES.items())),
        "## Commands",
    ]
    for panel in dict.fromkeys(each.panel for each in found):
        rows = [
            (f"[`{each.name}`](#{anchor(each.name)})", cell(_summary(each)))
            for each in found
            if each.panel == panel
        ]
        parts += [f"**{panel}**", table(("Command", "What it does"), rows)]
    return blocks(*parts, *map(_section, found))


def _text(each: Described) -> str:
    return help_text(each.command.help or "").replace("\b", "")


def _summary(each: Described) -> str:
    return _text(each).strip().split("\n\n")[0]


def _section(each: Described) -> str:
    return blocks(
        f"## {each.name}",
        fence(_usage(each), "text"),
        *_prose(_text(each)),
        *_parameters(each.command),
        _exits(each.name),
    )


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; examples keep their lines."""
    for paragraph in text.strip().split("\n\n"):
        lines = paragraph.split("\n")
        if len(lines) > 1 and all(line.lstrip().startswith(("- ", "* ")) for line in lines[1:]):
            yield inline(lines[0])
            yield "\n".join(f"- {inline(line.lstrip()[2:])}" for line in lines[1:])
        elif any(line.startswith((" ", "thinkeval ", "curl ", "$ ")) for line in lines):
            yield fence(paragraph, "text")
        else:
            yield inline(paragraph)


def _usage(each: Described) -> str:
    words = [each.name]
    options = [p for p in each.command.params if p.param_type_name == "option"]
    if options:
        words.append("[OPTIONS]")
    for param in each.command.params:
        if param.param_type_name == "argument":
            name = (param.metavar or param.name or "").strip("[]").upper()
            many = "..." if param.nargs == -1 else ""
            words.append(f"{name}{many}" if param.required else f"[{name}]{many}")
    return " ".join(words)


def _parameters(command: Any) -> Iterator[str]:
    """Arguments, then options by group, as tables."""
    groups: dict[str, list[Any]] = {}
    for param in command.params:
        if param.hidden if hasattr(param, "hidden") else False:
            continue
        is_option = param.param_type_name == "option"
        panel = (getattr(param, "rich_help_panel", None) or PLAIN) if is_option else "Arguments"
        groups.setdefault(panel, []).append(param)
    for panel, params in groups.items():
        head = "Argument" if panel == "Arguments" else "Option"
        rows = [(_name(p), _type(p), _default(p), cell(help_text(p.help or ""))) for p in params]
        yield f"**{panel}**"
        yield table((head, "Type", "Default", "Meaning"), rows)


def _name(param: Any) -> str:
    if param.param_type_name == "argument":
        return code((param.metavar or param.name or "").strip("[]").upper())
    names = sorted([*param.opts, *param.secondary_opts], key=lambda name: not name.startswith("--"))
    return ", ".join(map(code, names))


def _type(param: Any) -> str:
    if getattr(param, "is_flag", False) or getattr(param, "count", False):
        return "flag"
    kind = param.type_descriptor.annotation
    inner = typing.get_args(kind)
    if inner and typing.get_origin(kind) in (list, tuple):
        kind = inner[0]
    if isinstance(kind, type) and issubclass(kind, Enum):
        found = ", ".join(code(each.value) for each in kind)
    elif typing.get_origin(kind) is typing.Literal:
        found = ", ".join(map(code, typing.get_args(kind)))
    else:
        found = TYPES[kind.__name__] + _range(param)
    many = param.multiple if param.param_type_name == "option" else param.nargs == -1
    return found + ("; repeatable" if many else "")


def _range(param: Any) -> str:
    low, high = param.min, param.max
    if low is not None and high is not None:
        return f", {low:g} to {high:g}"
    if low is not None:
        return f", at least {low:g}"
    return f", at most {high:g}" if high is not None else ""


def _default(param: Any) -> str:
    if param.required:
        return "required"
    value = param.default
    if callable(value) or value is None or value is False or value in ((), [], ""):
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(code(_plain(each)) for each in value)
    return code(_plain(value))


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value.value) if isinstance(value, Enum) else str(value)


def _exits(name: str) -> str:
    rows = OWN_CODES.get(name, {})
    return "\n".join(f"- Exit code {code(value)}: {inline(text)}" for value, text in rows.items())
