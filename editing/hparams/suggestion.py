"""Starting hyperparameters for a model without published ones, each value with its origin.

A published file of the nearest model is taken over, its layers moved to the same depth, and each
constant whose size depends on the model's scale or on the corpus of its statistics replaced by a
rule without a dimension (`RULES`). Nothing is measured on the new model: which layers recall facts
is for causal tracing and trials to say. Imports no torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import yaml

from .. import registry
from ..errors import HparamsError
from .common import ENOUGH, LEAST, OF_THE_CORPUS, RIDGE, ModuleNames
from .schema import Schema

PUBLISHED = {"gpt2-xl": 48, "gpt-j-6b": 28, "llama3-8b": 32, "qwen2.5-7b": 28}
"""Models with published files, and their numbers of layers."""

NEAREST = {
    "gpt2": "gpt2-xl",
    "gptj": "gpt-j-6b",
    "gpt_neox": "gpt-j-6b",
    "qwen2": "qwen2.5-7b",
    "qwen3": "qwen2.5-7b",
}
"""Architecture → published model of the same or the nearest one; others: `OTHERWISE`."""

OTHERWISE = "llama3-8b"

AGREED = "all published files"
"""The origin of a value that does not differ between models."""

_SHARE = ("update_share", 0.95, "a rule: a layer's {} is such that its update reaches 95 %")
RULES: dict[str, tuple[tuple[str, float, str], ...]] = {
    "mom2_update_weight": ((_SHARE[0], _SHARE[1], _SHARE[2].format("λ")),),
    "L2": ((_SHARE[0], _SHARE[1], _SHARE[2].format("L2")),),
    "nullspace_threshold": (
        ("nullspace_rank", 0.7, "a rule: the dimensions that the model's text uses least"),
    ),
    "v_lr": (
        ("v_step", 0.1, "a rule: ten straight steps of the optimisation reach the clamp"),
        ("v_stop_probability", 0.95, "a rule: the optimisation ends where the target is installed"),
    ),
    "eta": (("value_length", 10.0, "a rule: the size that installs a fact in SmolLM2-135M"),),
}
"""Published constant → the rules, without a dimension, that a suggestion has in its place."""

HINTS = {
    "clamp_norm_factor": "lower it if other facts change",
    "inner_params": "all MLP matrices of the last layers",
}


@dataclass(frozen=True)
class Suggestion:
    """Hyperparameters of one method for one model.

    Attributes:
        method: the method.
        template: name of the published file that the values are from.
        values: {key: value}, complete and valid for the method's `HyperParams`.
        origins: {key: where the value comes from}.
    """

    method: str
    template: str
    values: dict[str, Any]
    origins: dict[str, str]

    @property
    def of_model(self) -> bool:
        """False where all published files have these values: they are of the method."""
        return not all(origin.startswith(AGREED) for origin in self.origins.values())

    def as_yaml(self, model: str, notes: tuple[str, ...] = ()) -> str:
        """A file for `--hparams`, with each value's origin as a comment."""
        solves = registry.solves_with_covariance(self.method)
        ridge = (
            f"mom2_ridge is set by rule: {RIDGE:g} where the covariance has fewer than {ENOUGH}",
            f"tokens a dimension, else 0; fewer than {LEAST:g} are refused.",
        )
        head = (
            f"Starting point for {self.method} on {model}: the values of",
            f"{self.method}/{self.template}.json, layers at the same depth, and rules in place of "
            "constants",
            "whose size depends on the model. Not published and not tuned for this model: score a",
            "few rewrites, read efficacy and Preservation, and adjust, before you compare methods.",
            *(ridge if solves and self.values.get("mom2_adjustment", True) else ()),
            *notes,
        )
        lines = [f"# {line}" for line in head]
        for key, value in self.values.items():
            shown = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False)
            text = shown.removesuffix("...\n").strip()
            lines.append(f"{key}: {text}  # {self.origins[key]}")
        return "\n".join(lines) + "\n"


def notice(found: Sequence[Suggestion], model: str) -> str:
    """One sentence for the record of edits that were made with these values.

    Args:
        found: of several methods from one published file.
    """
    if len(found) == 1:
        methods = explained = found[0].method
        layers = _shown(found[0].values.get("layers"))
    else:
        methods, explained = ", ".join(each.method for each in found), "METHOD"
        at: dict[str, list[str]] = {}
        for each in found:
            at.setdefault(_shown(each.values.get("layers")), []).append(each.method)
        layers = ", ".join(f"{where} ({', '.join(of)})" for where, of in at.items() if where)
    return (
        f"No published hyperparameters of {methods} for {model}; used the suggestion: the values"
        f" of {found[0].template}{layers and f' at {layers}'} (`thinkeval model methods"
        f" {explained}`"
        " explains them)."
    )


def for_config(method: str, config: Any) -> Suggestion:
    """Starting hyperparameters of a method for a model by its transformers configuration."""
    return suggest(method, config.model_type, int(config.get_text_config().num_hidden_layers))


def suggest(method: str, architecture: str, n_layers: int) -> Suggestion:
    """Starting hyperparameters of a method for a model of an architecture and number of layers.

    Raises:
        UnknownMethodError: no such method.
        HparamsError: the method has no published files, so that its defaults serve any model.
    """
    kind = registry.get(method).HyperParams
    template = NEAREST.get(architecture, OTHERWISE)
    published = {name: _published(method, name) for name in PUBLISHED}
    found = published[template]
    if found is None:
        raise HparamsError(
            f"'{method}' has no published hyperparameters to start from",
            remedy=f"Its defaults serve any model; `thinkeval model methods {method}` shows them.",
        )
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for key, value, origin in _moved(method, found, template, architecture, n_layers):
        values[key] = value
        hint = f"; {HINTS[key]}" if key in HINTS else ""
        origins[key] = (origin or _agreement(key, template, published)) + hint
    _validated(kind, values, f"suggestion for '{method}'")
    return Suggestion(method, template, values, origins)


def _moved(
    method: str, found: Mapping[str, Any], template: str, architecture: str, n_layers: int
) -> Iterator[tuple[str, Any, str]]:
    """(key, value for the model, its origin; empty for a value that is taken over)."""
    n_before, source = PUBLISHED[template], f"{method}/{template}.json"
    for key, value in found.items():
        if key in ModuleNames.__dataclass_fields__ or key in OF_THE_CORPUS:
            continue
        if key == "layers":
            layers = at_the_same_depth(value, n_before, n_layers)
            yield key, layers, f"{_shown(value)} of {n_before} in {source}, at this depth"
        elif key == "v_loss_layer":
            yield key, n_layers - 1, "the last layer, as in all published files"
        elif key == "inner_params":
            chosen = list(range(max(0, n_layers - 3), n_layers))
            yield "layers", chosen, f"every MLP matrix of the last 3 layers, as in {source}"
        elif key in RULES:
            yield from RULES[key]
        elif method == "random_delta" and key == "hparams":
            inner = suggest(str(found["method"]), architecture, n_layers)
            yield key, inner.values, f"`thinkeval model hparams suggest` for {inner.method}"
        else:
            yield key, value, ""


def at_the_same_depth(layers: list[int], n_before: int, n_layers: int) -> list[int]:
    """Layers of a model of `n_before` layers, at the same depth of one of `n_layers`.

    First and last are moved; of those between, at most as many layers as there were, the last
    ones: MEMIT's z is optimised at the last.
    """
    scale = (n_layers - 1) / (n_before - 1)
    first, last = round(layers[0] * scale), round(layers[-1] * scale)
    return list(range(max(first, last - len(layers) + 1), last + 1))


def _agreement(key: str, template: str, published: Mapping[str, Mapping[str, Any] | None]) -> str:
    """Return the published files that have a value, and the other files' values."""
    have = {name: found[key] for name, found in published.items() if found and key in found}
    value = have[template]
    others = {name: other for name, other in have.items() if other != value}
    if not others:
        return AGREED
    different = ", ".join(f"{name}: {json.dumps(other)}" for name, other in others.items())
    same = [name for name in have if name not in others]
    return f"{', '.join(same)} ({different})"


def _shown(layers: Sequence[int] | None) -> str:
    if not layers:
        return ""
    return f"layer {layers[0]}" if len(layers) == 1 else f"layers {layers[0]} to {layers[-1]}"


def _published(method: str, name: str) -> dict[str, Any] | None:
    stored = files("thinkeval.editing.hparams") / method / f"{name}.json"
    return json.loads(stored.read_text(encoding="utf-8")) if stored.is_file() else None


def _validated(kind: type[Schema], values: Mapping[str, Any], source: str) -> None:
    kind.from_dict(values, source=source)
