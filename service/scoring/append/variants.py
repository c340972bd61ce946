"""The variants of a method that PEAK compares on a request to append (Ma et al. 2024, §6, §7).

The bare method; "+", whose targets are all answers (§7.7); and APP, whole, with one of its three
losses left out (the ablation, §7.5), or with only k correct and k false answers (§7.6). A variant
is a change of the request's options; a score is assigned to its variant by what it records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import UsageError
from ...schemas import AppendOut

LOSSES = {"L1": "alpha", "L2": "beta", "L3": "gamma"}
"""The losses of APP (eq. 8 to 10), with the option that weighs each."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of a method.

    Attributes:
        name: `bare`, `+`, `APP`, `APP −L1`, `APP k=3`.
        changes: the options of a request that differ from the defaults.
    """

    name: str
    changes: Mapping[str, object] = field(default_factory=dict)


BARE = Variant("bare")
PLUS = Variant("+", {"append_loss": "all-answers"})
APP = Variant("APP", {"append_loss": "app"})

BY_NAME = {"bare": BARE, "+": PLUS, "app": APP}
"""The three that are compared, by the name that the command line takes."""


def ablation() -> list[Variant]:
    """APP without each of its losses (PEAK, Fig. 3)."""
    return [
        Variant(f"APP −{loss}", {**APP.changes, option: 0.0}) for loss, option in LOSSES.items()
    ]


def with_neighbours(numbers: Iterable[str]) -> list[Variant]:
    """APP with k correct and k false answers (PEAK, Fig. 4); k = 0 is the bare method.

    Args:
        numbers: `0`, `1`, …, or `all`.
    """
    found = []
    for k in dict.fromkeys(numbers):
        if k == "0":
            found.append(BARE)
        elif k == "all":
            found.append(APP)
        else:
            found.append(Variant(f"APP k={k}", {**APP.changes, "neighbours": k}))
    return found


def chosen(
    names: Sequence[str], *, numbers: Sequence[str] = (), ablate: bool = False
) -> list[Variant]:
    """The variants that a command names, each once.

    Args:
        names: of `BY_NAME`; none: all three.

    Raises:
        UsageError: an unknown name, or a k that is not a number.
    """
    unknown = [name for name in names if name.lower() not in BY_NAME]
    if unknown:
        raise UsageError(
            f"{unknown[0]!r} is not a variant.", remedy=f"Use one of {', '.join(BY_NAME)}."
        )
    wrong = [k for k in numbers if k != "all" and not k.isdecimal()]
    if wrong:
        raise UsageError(f"--neighbours {wrong[0]!r} is no number.", remedy="Use 0, 1, … or all.")
    found = [BY_NAME[name.lower()] for name in names or BY_NAME]
    found += with_neighbours(numbers)
    found += ablation() if ablate else []
    return list({variant.name: variant for variant in found}.values())


def variant_of(append: AppendOut) -> str:
    """The name of the variant that a score records."""
    if append.loss == "none":
        return BARE.name
    if append.loss == "all-answers":
        return PLUS.name
    weights = (append.alpha, append.beta, append.gamma)
    if append.neighbours == "0" or not any(weights):
        return BARE.name
    left_out = [loss for loss, weight in zip(LOSSES, weights, strict=True) if not weight]
    name = APP.name + "".join(f" −{loss}" for loss in left_out)
    if append.neighbours != "all":
        name += f" k={append.neighbours}"
    return name + " kept" * (append.lists == "kept")
