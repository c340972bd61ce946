"""Check a device: every measurement and every method on a tiny random model, against the CPU."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..loaders.records import RewriteRequest
from . import covariance, hparams, registry
from .architectures import adapter_for
from .deltas import applied
from .errors import HparamsError
from .hparams import suggestion
from .models import LoadedModel, weights_digest, wrap
from .organism.config import OrganismConfig
from .organism.shapes import SHAPES
from .organism.tokens import train_tokenizer
from .probe import Progress, linear_updates, own_samples
from .probe.likelihood import likelihoods
from .probe.prompts import Query, plainly
from .probe.sampled import Sampling, sample
from .shapes import untrained_state

LARGEST = 0.01
"""Relative difference from the CPU above which a stage failed; sums in another order give less."""
STEPS = 3
"""Steps of an optimisation on the tiny model."""
POSITIONS = 128
SCALE = 5
"""Factor on the random matrices. As they are, the states are so small that an optimisation enlarges
the rounding of another number of threads to almost `LARGEST`."""
REQUEST = RewriteRequest("check", "check", "{} studied at", "Harry", "r", "Hogwarts", "Paris")
QUERIES = [
    Query(text, plainly(text), names)
    for text, names in (
        ("Harry studied at", ("Hogwarts", "Paris")),
        ("The capital of France is", ("Paris",)),
        ("Ron is a friend of", ("Harry",)),
    )
]
RETAIN = [("The capital of France is", "Paris"), ("Ron is a friend of", "Harry")]
TEXTS = [f"{one} is a friend of {other}." for one in ("Harry", "Ron") for other in "ABCDEFGH"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the check.

    Attributes:
        difference: largest relative difference from the CPU's numbers; None where it failed.
        error: the error by which it failed, in one line.
    """

    name: str
    difference: float | None
    error: str = ""

    @property
    def ok(self) -> bool:
        """Return True if the device computes as the CPU does."""
        return self.difference is not None and self.difference <= LARGEST


def stages(device: torch.device, progress: Progress | None = None) -> Iterator[Stage]:
    """Run each stage on the CPU and on a device, and compare the numbers.

    Args:
        device: any device of torch. The check takes about 20 s, and little memory.
        progress: called with the numbers of completed and of all stages.
    """
    here = _tiny()
    # A copy, as a model on a device may share its tokenizer only.
    there = wrap(copy.deepcopy(here.model).to(device), here.tokenizer, name=here.info.name)
    checks = _checks()
    for done, (name, numbers) in enumerate(checks.items()):
        if progress:
            progress(done, len(checks), f"every method on {device}")
        wanted = numbers(here)
        try:
            found = numbers(there)
        except Exception as error:
            # Whatever a device refuses: the line is what a user sends.
            yield Stage(name, None, f"{type(error).__name__}: {error}".splitlines()[0])
            continue
        yield Stage(name, max(_difference(*pair) for pair in zip(wanted, found, strict=True)))


def _checks() -> dict[str, Callable[[LoadedModel], list[Tensor]]]:
    methods = [n for n in registry.names() if registry.info(n).kind == "weights" and n != "none"]
    return {
        "likelihoods": _likelihoods,
        "sampled answers": _answers,
        "own texts": lambda loaded: [_own(loaded)],
        "covariance": lambda loaded: list(_moments(loaded, (0, 1)).values()),
        **{name: partial(_edited, name) for name in methods},
    }


def _tiny() -> LoadedModel:
    """Return a random Llama of two layers that reads bytes."""
    tokenizer = train_tokenizer((), 257)
    config = OrganismConfig("llama", layers=2, width=32, heads=4)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = SHAPES["llama"](config, len(tokenizer), POSITIONS, tokenizer.eos_token_id)
        for weight in model.parameters():
            if weight.ndim > 1:
                weight *= SCALE
    model.set_attn_implementation("eager")  # one kernel on every device
    return wrap(model, tokenizer, name="tiny")


def _likelihoods(loaded: LoadedModel) -> list[Tensor]:
    return [torch.tensor(likelihoods(loaded, QUERIES), dtype=torch.float64)]


def _answers(loaded: LoadedModel) -> list[Tensor]:
    drawn = sample(loaded, QUERIES, Sampling(3, 1.0, 8, 0))
    text = "".join(answer for each in drawn for answer in each.answers)
    return [torch.tensor(list(text.encode()), dtype=torch.float64)]


def _own(loaded: LoadedModel) -> Tensor:
    texts = own_samples.sample(loaded, texts=4, length=12).texts
    return torch.tensor(texts, dtype=torch.float64)


def _moments(loaded: LoadedModel, layers: tuple[int, ...]) -> Mapping[str, Tensor]:
    return covariance.collect(loaded.model, loaded.tokenizer, TEXTS, layers, dtype="float64")


def _edited(name: str, loaded: LoadedModel) -> list[Tensor]:
    """Return an edit's update, its factors and its effect on likelihoods and own texts.

    Raises:
        RuntimeError: the weights are other ones afterwards.
    """
    model, method = loaded.model, registry.get(name)
    chosen = _hparams(name, model.config)
    state = untrained_state(method, model, chosen, RETAIN)
    layers = registry.covariance_layers(method, chosen)
    moments = _moments(loaded, layers) if layers else None
    before = weights_digest(model)
    effect = method.execute(
        model, loaded.tokenizer, [REQUEST], chosen, moments,
        context_templates=["{}"], state=state,
    )  # fmt: skip
    texts = own_samples.sample(loaded, texts=2, length=8)
    told = own_samples.changes(loaded, effect, texts, own_samples.hidden(loaded, texts))
    with applied(model, effect):
        after = _likelihoods(loaded)
    linear_updates.updates_of(adapter_for(model), [effect])
    if weights_digest(model) != before:
        raise RuntimeError("the weights are other ones after the edit was undone")
    # Factors of likelihoods: of an update near 0, nats are rounding alone.
    numbers = torch.tensor([[each.kl, each.nll] for each in told], dtype=torch.float64).exp()
    return [*(effect.deltas[key] for key in sorted(effect.deltas)), *after, numbers]


def _hparams(name: str, config: Any) -> Any:
    """Return the hyperparameters that are suggested, with few steps."""
    try:
        values = dict(suggestion.for_config(name, config).values)
    except HparamsError:  # its defaults serve any model
        values = {}
    steps = ("num_steps", "v_num_grad_steps", "steps")
    values |= {key: STEPS for key in steps if key in values}
    return hparams.from_values(name, values, None, source="the check of a device")


def _difference(wanted: Tensor, found: Tensor) -> float:
    """Return ‖found − wanted‖ / ‖wanted‖, in float64; infinite for NaN or another shape."""
    if wanted.shape != found.shape:
        return math.inf
    one, other = (each.detach().cpu().double() for each in (wanted, found))
    ratio = float((other - one).norm() / one.norm().clamp_min(1e-12))
    return ratio if math.isfinite(ratio) else math.inf
