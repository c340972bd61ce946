"""docs/reference/python.md: the public names of `import thinkeval`, with the client's methods."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pydantic
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

import thinkeval
from reference_pages.markdown import anchor, blocks, cell, code, docstring, fence, inline, table

ORDER = (
    "score_edit",
    "leak_cut",
    "co_edit",
    "export",
    "query",
    "Runtime",
    "Settings",
    "EditIn",
    "CoEditIn",
    "Score",
    "Client",
    "ProblemError",
    "__version__",
)
"""The public names in the order of their sections; one that is not listed comes last."""

EXAMPLE = """import thinkeval as te

with te.Client("http://localhost:8000") as client:  # a running `thinkeval serve`
    score = client.score("harry-potter--studied-at", graph="hogwarts", method="rome")
    print(client.chains(score.edit, surviving=True))"""

WIDE = 96


def page() -> str:
    """The Markdown: a table of the names, then one section each."""
    names = sorted(
        thinkeval.__all__, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER)
    )
    rows = [(f"[`{name}`](#{anchor(name)})", _kind(name), cell(_summary(name))) for name in names]
    return blocks(
        "# Python",
        f"The {len(names)} public names of `import thinkeval`; everything else may change without"
        " notice.",
        fence(EXAMPLE, "python"),
        "`Client` talks to a running service and loads no model; `Runtime` with `score_edit` does"
        " the work in this process. A name is loaded at its first use, so that the import itself is"
        " light. [Notebook](../how-to/notebook.md) walks through the client.",
        table(("Name", "Kind", "What it is"), rows),
        *(_section(name) for name in names),
    )


def client_methods() -> list[str]:
    """The public methods of the client."""
    return [name for name, _ in _methods(thinkeval.Client)]


def _value(name: str) -> Any:
    return getattr(thinkeval, name)


def _kind(name: str) -> str:
    value = _value(name)
    if not isinstance(value, type):
        return "function" if callable(value) else "text"
    if issubclass(value, Exception):
        return "exception"
    return "model" if issubclass(value, pydantic.BaseModel) else "class"


def _summary(name: str) -> str:
    if name == "__version__":
        return "The version of the package."
    return " ".join((inspect.getdoc(_value(name)) or "").split("\n\n")[0].split())


def _section(name: str) -> str:
    value = _value(name)
    if name == "__version__":
        return blocks(f"## `{name}`", _summary(name))  # as code: the underlines are not bold
    if name == "Settings":
        rest = ["Its fields are the [settings](settings.md), without the prefix, in lower case."]
    elif isinstance(value, type) and issubclass(value, pydantic.BaseModel):
        rest = [fields_table(value)]
    elif isinstance(value, type):
        rest = [fence(f"class {_signature(name, value)}", "python"), docstring(value.__doc__)]
        rest += [_method(name, each, found) for each, found in _methods(value)]
        rest += [
            _method(f"{name}.{space}", each, found)
            for space, kind in _namespaces(value).items()
            for each, found in _methods(kind)
        ]
        return blocks(f"## {name}", *rest)
    else:
        rest = [fence(f"def {_signature(name, value)}", "python")]
        return blocks(f"## {name}", *rest, docstring(value.__doc__))
    return blocks(f"## {name}", docstring(value.__doc__), *rest)


def fields_table(model: type[pydantic.BaseModel]) -> str:
    """The fields of a model of data."""
    rows = [
        (
            code(name),
            code(_annotation(field.annotation)),
            _default(field),
            cell(field.description or ""),
        )
        for name, field in model.model_fields.items()
    ]
    return table(("Field", "Type", "Default", "Meaning"), rows)


def _annotation(kind: Any) -> str:
    text = kind.__name__ if isinstance(kind, type) and "[" not in str(kind) else str(kind)
    text = re.sub(r"(?:\w+\.)+(?=\w)", "", text)
    text = re.sub(r"Annotated\[(\w+), [^\]]*\]", r"\1", text)
    return text.replace("NoneType", "None")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default is PydanticUndefined:
        return code(repr(field.default_factory()))  # type: ignore[misc, call-arg]
    return code(repr(field.default))


def _methods(kind: type) -> list[tuple[str, Any]]:
    """Public methods and properties, by the class that defines them, in its order."""
    found: dict[str, Any] = {}
    for base in kind.__mro__:
        if base.__module__.startswith("thinkeval."):
            for name, value in vars(base).items():
                plain = inspect.isfunction(value) or isinstance(value, property)
                if not name.startswith("_") and plain and inspect.getdoc(value):
                    found.setdefault(name, value)
    return list(found.items())


def _namespaces(kind: type) -> dict[str, type]:
    """The attributes of a class that hold further methods, such as `experiments`."""
    module = vars(inspect.getmodule(kind))
    return {name: module[text] for name, text in inspect.get_annotations(kind).items()}


def _method(owner: str, name: str, value: Any) -> str:
    head = f"### {owner}.{name}"
    if isinstance(value, property):
        return blocks(head, inline("A property."), docstring(value.__doc__))
    return blocks(head, fence(f"def {_signature(name, value)}", "python"), docstring(value.__doc__))


def _signature(name: str, value: Any) -> str:
    """A signature without `self`; one parameter a line where it is long."""
    found = inspect.signature(value)
    params = [each for each in found.parameters.values() if each.name != "self"]
    back = found.return_annotation
    end = "" if back is inspect.Signature.empty or back in (None, "None") else f" -> {_text(back)}"
    short = inspect.Signature(params).__str__()
    line = f"{name}{_plain(short)}{end}"
    if len(line) <= WIDE:
        return line
    shown: list[str] = []
    star = False
    for each in params:
        if each.kind is each.KEYWORD_ONLY and not star:
            shown.append("*")
        star = star or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        shown.append(_plain(str(each)))
    inside = "".join(f"    {each},\n" for each in shown)
    return f"{name}(\n{inside}){end}"


def _text(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else _annotation(annotation)


def _plain(text: str) -> str:
    """Annotations, which are texts, without quotes; a function by its name."""
    text = re.sub(r": '([^']*)'", r": \1", text)
    return re.sub(r"<(?:function|class) '?([\w.]+?)'?(?: at 0x\w+)?>", r"\1", text)
