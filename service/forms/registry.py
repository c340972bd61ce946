"""Registry of forms: every module of this package with the attributes of the contract is one."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from .. import forms as package
from ..base.errors import UsageError
from .context import Context
from .material import Answer, LogP, Outcome, Target, Unit, Variant

CONTRACT = ("VERSION", "NEEDS", "VARIANTS", "units", "score")
ALL = "all"


@dataclass(frozen=True)
class Form:
    """One variant of a form.

    Attributes:
        id: the module's name.
    """

    id: str
    variant: Variant
    module: Any

    @property
    def key(self) -> str:
        """Form and variant, as a command names them: `question/3-shot`."""
        return f"{self.id}/{self.variant.name}"

    @property
    def summary(self) -> str:
        """The first line of the module's docstring."""
        return str(self.module.__doc__ or "").strip().splitlines()[0]

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of `NEEDS`."""
        wanted: tuple[str, ...] = self.module.NEEDS
        return (*wanted, "examples") if self.variant.examples else wanted

    def protocol(self, context: Context) -> str:
        """The protocol id: form, examples, scoring and version.

        Examples have their digest behind a colon; figures of different ids are not comparable.
        """
        shown = self.variant.name
        if self.variant.examples:
            shown += f":{context.examples_digest(self.id, self.variant.examples)}"
        return f"{self.id}/{shown}/{self.variant.scoring}/v{self.module.VERSION}"

    def units(self, target: Target, context: Context) -> list[Unit]:
        """The units of a fact.

        Raises:
            NotAsked: with the reason.
        """
        found: list[Unit] = self.module.units(target, context, self.variant)
        return found

    def score(self, values: LogP | Sequence[Answer], target: Target) -> Outcome:
        """The outcome of one unit."""
        found: Outcome = self.module.score(values, target, self.variant)
        return found


@cache
def forms() -> tuple[Form, ...]:
    """Every variant of every form, the cloze first, then by name."""
    found: list[Form] = []
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        if all(hasattr(module, attribute) for attribute in CONTRACT):
            found += [Form(info.name, variant, module) for variant in module.VARIANTS]
    return tuple(sorted(found, key=lambda form: (form.id != "cloze", form.id)))


def chosen(names: Iterable[str]) -> list[Form]:
    """The forms of a list: `all`, names of forms (all their variants), or `form/variant`.

    `all` leaves out forms that are asked by name only. The cloze is always one of them, as what it
    knows decides which facts count, and so is the control of a form.

    Raises:
        UsageError: there is no such form; says which is close.
    """
    wanted = [name.strip() for text in names for name in text.split(",") if name.strip()]
    known = {name: form for form in forms() for name in (form.id, form.key)}
    for name in wanted:
        if name != ALL and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"Did you mean {near[0]!r}? " if near else ""
            raise UsageError(
                f"There is no form {name!r}.",
                remedy=f"{meant}There are: {', '.join(dict.fromkeys(f.id for f in forms()))}.",
            )
    keys = {"cloze/0-shot"}
    for form in forms():
        named = {form.id, form.key} | ({ALL} if not form.variant.on_request else set())
        if not named.isdisjoint(wanted):
            keys |= {form.key, f"{form.id}/{form.variant.against}"}
    return [form for form in forms() if form.key in keys]
