"""The notation of a state: one word on the command line, one object in REST and Python."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ...editing.training.settings import FineTuning
from ...loaders.reading.sources import small_text
from ..base.errors import UsageError
from ..scoring import runtime
from ..scoring.runtime import CHANGE_MARK, ENDPOINT

# A fine-tune as a change of a state: `finetune:SOURCE` with its options.
#
#     finetune:FILE[:steps=N][:lr=X][:lora=R|:full][:batch=N][:seed=N]
#     finetune:graph[:...]     on the graph's facts that share no entity with the requests
#
# A change is read from the right, so that a FILE's name may hold colons. Imports no torch.

HOW = (
    "Write a fine-tune as finetune:FILE or finetune:graph, with :steps=N, :lr=X, :lora=R or :full,"
    " :batch=N, :seed=N."
)
FINE_TUNE = "finetune:"
GRAPH = "graph"
"""In place of a file: the graph's own facts."""

_OPTION = re.compile(r"(steps|lr|lora|batch|seed)=(.*)", re.DOTALL)
_FULL = "full"
MOST = {"steps": 1_000_000, "lora": 1024, "batch": 1024, "seed": 2**31 - 1}
"""Largest values of the whole numbers; all but the seed begin at 1."""


@dataclass(frozen=True, slots=True)
class FineTune:
    """Fine-tune the weights as they are then.

    Attributes:
        source: a file, or GRAPH.
    """

    source: str
    settings: FineTuning

    @property
    def of_graph(self) -> bool:
        """Return True if it learns facts of the graph."""
        return self.source == GRAPH


def parse_fine_tune(text: str) -> FineTune:
    """Read a fine-tune.

    Options are taken off from the right, until the rest names a file or the graph.

    Raises:
        UsageError: names the wrong part, and how a fine-tune is written.
    """
    source, options = text.removeprefix(FINE_TUNE), {}
    while not Path(source).is_file():
        rest, colon, last = source.rpartition(":")
        found = _OPTION.fullmatch(last)
        if not colon or not (found or last == _FULL):
            break
        name, number = (found[1], found[2]) if found else (_FULL, "")
        if name in options:
            raise UsageError(f"{text!r} gives {name} twice.", remedy="Give it once.")
        options[name] = number
        source = rest
    if not source:
        raise UsageError(f"{text!r} names no file.", remedy=HOW)
    if _FULL in options and "lora" in options:
        raise UsageError(
            f"{text!r} trains all weights and low-rank factors.", remedy="Give :full or :lora=R."
        )
    options.pop(_FULL, None)
    values: dict[str, Any] = {name: _number(text, name, each) for name, each in options.items()}
    return FineTune(source, FineTuning(**values))


def _number(text: str, name: str, value: str) -> int | float:
    """The value of an option.

    Raises:
        UsageError: it is no number, or out of range.
    """
    try:
        found = float(value) if name == "lr" else int(value)
    except ValueError:
        found = -1
    least = 0 if name == "seed" else 1
    right = 0 < found <= 1 if name == "lr" else least <= found <= MOST[name]
    if not right:
        bounds = "above 0, at most 1" if name == "lr" else f"from {least} to {MOST[name]}"
        raise UsageError(
            f"{name}={value} in {text!r} is out of range.", remedy=f"Give a number {bounds}."
        )
    return found


#     organism · organism:llama:seed=1      a model organism, trained on the graph
#     gpt2-xl · gpt2-xl@REVISION · FOLDER   a model of the hub, or of a folder
#     BASE+edit:EDIT[+edit:EDIT ...]        with saved edits, in this order
#     BASE+finetune:graph[:steps=N ...]     fine-tuned (`states.changes`), in order with the edits
#     BASE+adapter:FOLDER[+edit:EDIT ...]   with a PEFT adapter; edits change the weights below it
#     BASE+8bit · BASE+4bit                 quantised, with adapter and edits in the weights
#     endpoint:URL#MODEL                    a model behind a server of the OpenAI protocol
#
# In a sequence of states, `+CHANGE` is the state before with this put on: `+8bit`, `+edit:EDIT`.
# Quantised weights cannot be changed, so that a state is always quantised last. A text that is an
# existing folder is that folder, whatever characters it has. Imports no torch.

HOW_STATES = (
    "Write a state as MODEL, MODEL@REVISION, MODEL+adapter:FOLDER, MODEL+edit:EDIT (again for"
    " further edits), MODEL+finetune:FILE or +finetune:graph, with +8bit or +4bit last; or"
    " endpoint:URL#MODEL. After the first, +CHANGE is the state before with this put on."
)
CHANGES = {
    "adapter": "adapter:FOLDER", "edit": "edit:EDIT", "finetune": "finetune:graph",
    "8bit": "8bit", "4bit": "4bit",
}  # fmt: skip
"""The notation of each change of a base, by its kind."""
_HUB = re.compile(r"\w[\w.-]*(?:/[\w.-]+)?")

Bits = Literal["8bit", "4bit"]
Text = Annotated[str, Field(min_length=1, max_length=1000)]


class StateIn(BaseModel):
    """A state: a model, and what is put on it. Its `spec` is accepted in its place.

    Its `spec` is as on the command line, and `parse` of it is this state again; its `name` is
    short, for tables and graphs, without folders, addresses or keys.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={
            "examples": [
                {"model": "organism"},
                {"model": "organism", "edits": ["rome-harry-potter-0123456789"]},
                {"model": "gpt2-xl", "adapter": "/models/adapter", "quantized": "8bit"},
            ]
        },
    )

    model: Text = Field(
        description="As --model: organism[:...], a hub name, a folder; of an endpoint, the name of"
        " the model that it serves."
    )
    revision: Text | None = Field(default=None, description="Branch, tag or commit of a hub model.")
    adapter: Text | None = Field(default=None, description="Folder of a PEFT adapter.")
    edits: tuple[Text, ...] = Field(
        default=(),
        max_length=1000,
        description="Saved edits by id, and fine-tunes as finetune:FILE or finetune:graph with"
        " options such as :steps=200:lora=8; applied in this order.",
    )
    quantized: Bits | None = Field(
        default=None, description="Quantise the weights, after adapter and edits."
    )
    endpoint: Text | None = Field(
        default=None, description="Address of a server of the OpenAI protocol, ending in /v1."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_spec(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            raise ValueError("a list is no state: name one state, such as organism+edit:EDIT")
        if not isinstance(value, str):
            return value
        try:
            return _parts(value)
        except UsageError as error:
            raise ValueError(f"{error.detail} {error.remedy}") from error

    @model_validator(mode="after")
    def _goes_together(self) -> StateIn:
        for edit in self.edits:
            if edit.startswith(FINE_TUNE):
                _require_fine_tune(edit)
        if self.endpoint is None:
            if len(list(_cut(self.model))) > 1 or self.model.startswith(ENDPOINT):
                raise ValueError("the model's own name holds no change and no endpoint")
            return self
        if self.revision or self.adapter or self.edits or self.quantized:
            raise ValueError("an endpoint's model is asked as its server serves it")
        address = urlsplit(self.endpoint)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("the address of an endpoint begins with http:// or https://")
        if "@" in address.netloc or address.query or address.fragment:
            raise ValueError("the address of an endpoint holds no user, key or query")
        return self

    @property
    def spec(self) -> str:
        """The state as it is written on the command line."""
        if self.endpoint is not None:
            return f"{ENDPOINT}{self.endpoint}#{self.model}"
        return self.model + (f"@{self.revision}" if self.revision else "") + self._changes()

    @property
    def name(self) -> str:
        """Short name: `gpt2-xl`, `organism-gpt2-seed0+8bit`, `qwen3 at 127.0.0.1:8000`."""
        return self.named(None)

    def named(self, base: str | None) -> str:
        """The short name, with the name of the loaded base where it is known already."""
        if self.endpoint is not None:
            return f"{Path(self.model).name} at {urlsplit(self.endpoint).netloc}"
        head = base or runtime.parse(self.model).name
        return head + (f"@{self.revision}" if self.revision else "") + self._changes(short=True)

    def _changes(self, *, short: bool = False) -> str:
        def shown(text: str) -> str:
            return Path(text).name.removesuffix(".safetensors") if short else text

        parts = [*([f"adapter:{shown(self.adapter)}"] if self.adapter else ())]
        parts += [
            edit if edit.startswith(FINE_TUNE) else f"edit:{shown(edit)}" for edit in self.edits
        ]
        return "".join(f"+{part}" for part in (*parts, self.quantized) if part)


def _require_fine_tune(text: str) -> None:
    """Refuse a fine-tune that cannot be read; a ValueError, as pydantic wants it."""
    try:
        parse_fine_tune(text)
    except UsageError as error:
        raise ValueError(f"{error.detail} {error.remedy}") from error


def parse_sequence(base: StateIn, specs: Iterable[str | StateIn]) -> list[StateIn]:
    """Read states that follow each other: `+CHANGE` is the state before with this put on.

    Args:
        base: the state before the first.

    Raises:
        UsageError: names the part that is wrong and how a state is written.
    """
    found = [base]
    for spec in specs:
        if isinstance(spec, StateIn):
            found.append(spec)
        elif spec.startswith("+"):
            found.append(_changed(found[-1], spec))
        else:
            found.append(parse(spec))
    return found[1:]


def listed(specs: Iterable[str]) -> list[str]:
    """States as a command names them, each by itself.

    `@FILE` is the lines of a file without blank ones and comments (`#`), a folder that has
    checkpoints but is none for each of them, in the order of the numbers in their names.

    Raises:
        UsageError: a file that cannot be read, or that names no state.
    """
    return [each for spec in specs for each in (_lines if spec[:1] == "@" else _checkpoints)(spec)]


def _lines(spec: str) -> list[str]:
    path = Path(spec[1:])
    try:
        lines = [line.partition("#")[0].strip() for line in small_text(path).splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read as a list of states: {error}.", remedy="Name a text file."
        ) from error
    if not any(lines):
        raise UsageError(f"{path} names no state.", remedy="Write one a line.")
    return [line for line in lines if line]


def _checkpoints(spec: str) -> list[str]:
    """The checkpoints in a folder; the state itself where it is none."""
    folder = Path(spec)
    if spec[:1] == "+" or not folder.is_dir() or (folder / "config.json").exists():
        return [spec]
    found = [each.parent for each in folder.glob("*/config.json")]
    numbers = re.compile(r"(\d+)")
    found.sort(key=lambda each: [int(x) if x.isdigit() else x for x in numbers.split(each.name)])
    return [str(each) for each in found] or [spec]


def as_change(state: StateIn, before: StateIn) -> str:
    """Return a state as a change of the one before, `+CHANGE`; in full if it is none."""
    n = len(before.edits)
    builds_on = (
        (state.model, state.revision) == (before.model, before.revision)
        and state.endpoint is None
        and state.edits[:n] == before.edits
        and before.adapter in (None, state.adapter)
        and (before.quantized is None or state.quantized is not None)
    )
    bare = StateIn(
        model=state.model,
        adapter=None if state.adapter == before.adapter else state.adapter,
        edits=state.edits[n:],
        quantized=None if state.quantized == before.quantized else state.quantized,
    )
    return bare.spec.removeprefix(state.model) if builds_on and bare.spec != state.model else (
        state.spec
    )  # fmt: skip


def _changed(state: StateIn, spec: str) -> StateIn:
    """Return the state with the changes of a text that begins with `+`; quantised last."""
    if state.endpoint is not None:
        raise UsageError(
            f"{spec!r} changes an endpoint's model, which is asked as its server serves it.",
            remedy="Name the state in full.",
        )
    for part in list(_cut(spec))[1:] or [""]:
        _refuse_unknown_change(part)
        kind, _, value = part.partition(":")
        if kind in ("8bit", "4bit"):
            if state.quantized == kind:
                raise UsageError(f"{spec!r} quantises to {kind} twice.", remedy="Name it once.")
            state = state.model_copy(update={"quantized": kind})
        elif kind not in CHANGES or not value:
            raise UsageError(f"{spec!r} names no change of a state.", remedy=HOW_STATES)
        elif kind == "adapter":
            if state.adapter:
                raise UsageError(
                    f"{spec!r} puts a second adapter on.",
                    remedy="A state has one adapter; merge the first into the base with peft.",
                )
            state = state.model_copy(update={"adapter": value})
        else:
            if kind == "finetune":
                parse_fine_tune(part)
                if state.adapter:
                    raise UsageError(
                        f"{spec!r} fine-tunes after an adapter: the weights below an adapter would"
                        " be trained as if it were not there.",
                        remedy="Name the fine-tune before the adapter, or merge the adapter into"
                        " the base.",
                    )
            name = part if kind == "finetune" else value
            state = state.model_copy(update={"edits": (*state.edits, name)})
    return state


def parse(spec: str) -> StateIn:
    """Read the specification of a state.

    Raises:
        UsageError: names the part that is wrong and how a state is written.
    """
    parts = _parts(spec)
    try:
        return StateIn.model_validate(parts)
    except ValidationError as error:
        reason = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise UsageError(f"{spec!r} is not a state: {reason}.", remedy=HOW_STATES) from error


def _parts(spec: str) -> dict[str, Any]:
    """The fields of a state's specification."""
    if spec.startswith(ENDPOINT):
        address, mark, model = spec.removeprefix(ENDPOINT).partition("#")
        if not (mark and model and address):
            raise UsageError(
                f"{spec!r} does not name the model of the endpoint.",
                remedy="Write it as endpoint:URL#MODEL, with the name that the server serves.",
            )
        return {"endpoint": address, "model": model}
    head, *rest = _cut(spec)
    for part in (head, *rest):
        _refuse_unknown_change(part)
    parts: dict[str, Any] = {"edits": ()} | _model(head)
    for text in rest:
        _add(parts, text, spec)
    return parts


def _refuse_unknown_change(part: str) -> None:
    """Refuse a part in which a `+` is left, unless it names an existing folder or file.

    Raises:
        UsageError: names the change that was not understood, and the closest one that there is.
    """
    _, mark, change = part.partition("+")
    if not mark or _exists(part):
        return
    kind = change.partition(":")[0]
    close = difflib.get_close_matches(kind, CHANGES, n=1, cutoff=0.5)
    hint = f" Did you mean +{CHANGES[close[0]]}?" if close else ""
    raise UsageError(
        f"{part!r} is no folder, and +{change} is no change of a state.{hint}", remedy=HOW_STATES
    )


def _add(parts: dict[str, Any], text: str, spec: str) -> None:
    """Add what one `+...` puts on the state.

    Raises:
        UsageError: it is empty, given twice, or in another order than it is put on.
    """
    kind, _, value = text.partition(":")
    if "quantized" in parts:
        raise UsageError(
            f"{spec!r} puts +{text} on quantised weights, and those cannot be changed.",
            remedy=f"Write +{parts['quantized']} last: the changed weights are quantised then.",
        )
    if kind in ("8bit", "4bit"):
        parts["quantized"] = kind
    elif not value:
        raise UsageError(f"{spec!r} names nothing after +{kind}:.", remedy=HOW_STATES)
    elif kind == "edit":
        parts["edits"] = (*parts["edits"], value)
    elif kind == "finetune":
        parse_fine_tune(text)
        parts["edits"] = (*parts["edits"], text)
    elif "adapter" in parts:
        raise UsageError(
            f"{spec!r} names two adapters.",
            remedy="A state has one adapter; merge the others into the base with peft.",
        )
    elif parts["edits"]:
        raise UsageError(
            f"{spec!r} names the adapter after an edit.",
            remedy="Write +adapter:FOLDER before +edit:EDIT; edits change the base's weights.",
        )
    else:
        parts["adapter"] = value


def _model(text: str) -> dict[str, Any]:
    """Model and revision of the text before the first `+`."""
    name, mark, revision = text.partition("@")
    if not mark or _exists(text) or not _HUB.fullmatch(name):
        if not text:
            raise UsageError("A state begins with its model.", remedy=HOW_STATES)
        return {"model": text}
    if not revision:
        raise UsageError(f"{text!r} names no revision after @.", remedy=HOW_STATES)
    return {"model": name, "revision": revision}


def _cut(spec: str) -> Iterator[str]:
    """Yield the parts: cut at marks, but never inside an existing folder or file."""
    segments, at = CHANGE_MARK.split(spec), 0
    while at < len(segments):
        ends = range(len(segments), at + 1, -1)
        end = next((end for end in ends if _exists("+".join(segments[at:end]))), at + 1)
        yield "+".join(segments[at:end])
        at = end


def _exists(part: str) -> bool:
    """Return True if a part names an existing folder, or an edit's file."""
    for mark in ("adapter:", "edit:", FINE_TUNE):
        part = part.removeprefix(mark)
    path = os.path.expanduser(part)
    return os.path.isdir(path) or os.path.isfile(path)
