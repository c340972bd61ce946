"""Editors: apply facts to a model in phase establish and in phase update.

An editor is an editing method with its hyperparameters and statistics. Two differ from the method:
`finetune` is fine-tuning as in DepEdit (all requests together until they are learnt), and `mend`
updates a model that `finetune` established, as MEND cannot edit on top of its own edits (DepEdit,
appendix B).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...loaders.knowledge_sets import QA
from ...loaders.records import RewriteRequest
from ..errors import UsageError
from ..graphs import datasets
from ..scoring import covariance as corpora
from ..scoring.hypernetwork import SMALL

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ...editing.registry import MethodInfo
    from ..scoring.runtime import Runtime, RuntimeModel

ALIASES = {"finetune": "fine_tuning"}
"""Names of methods in the paper's tables."""

FINETUNE = {
    "objective_optimization": "target_new",
    "norm_constraint": None,
    "num_steps": 100,
    "stop_loss": 1e-3,
    "batch_size": 64,
}
"""Hyperparameters of `finetune` that replace the file's: no norm constraint, every target token at
its position, until the loss is small."""

FINETUNE_SMALL = {"lr": 1e-3}
"""Further ones for a model of at most `SMALL` weights, whose MLPs are all trained."""

Put = Callable[[Sequence[RewriteRequest]], "EditEffect"]


@dataclass(frozen=True, slots=True)
class EditorOptions:
    """Options of an editor.

    Attributes:
        graph: source of sentences for covariance statistics, and of facts that train MEND.
        overrides: single hyperparameters that replace the file's.
    """

    graph: str
    hparams: str | None = None
    overrides: dict[str, object] = field(default_factory=dict)
    covariance: str | None = None
    seed: int = 0


class Method:
    """One editing method with its settings, applied to the current state of one model."""

    def __init__(
        self,
        runtime: Runtime,
        model: RuntimeModel,
        name: str,
        options: EditorOptions,
        state: Callable[[Any, Any], dict[str, Any] | None] | None = None,
    ) -> None:
        from ...editing import hparams, registry

        self.name = ALIASES.get(name, name)
        require_weights(name, registry.info(self.name))
        self._runtime, self._model, self._seed = runtime, model, options.seed
        self._method = registry.get(self.name)
        own = finetune_overrides(model) if name == "finetune" else {}
        self.hparams = hparams.load(
            self.name, options.hparams or model.source, overrides={**own, **options.overrides}
        )
        layers = registry.covariance_layers(self._method, self.hparams)
        dataset = datasets.dataset(runtime.db, options.graph)
        corpus = corpora.resolve(runtime, dataset, options.covariance, model, layers)
        self._covariance = corpora.covariance_of(runtime, corpus, model, layers)
        self._state = state(self._method, self.hparams) if state else None
        self._templates: Any = None

    def __call__(self, requests: Sequence[RewriteRequest]) -> EditEffect:
        """The update of the current model by the requests."""
        loaded = self._model.loaded
        effect = self._method.execute(
            loaded.model,
            loaded.tokenizer,
            requests,
            self.hparams,
            self._covariance,
            context_templates=self._templates,
            state=self._state,
            seed=self._seed,
        )
        # Sampled once, from the unedited model: an edited one would generate other prefixes.
        self._templates = self._templates or effect.templates or None
        return effect


def require_weights(name: str, info: MethodInfo) -> None:
    """Check that a method edits weights.

    Raises:
        UsageError: it changes prompts, or only forgets.
    """
    if info.kind == "prompt":
        raise UsageError(
            f"{name} changes prompts; facts are established in weights.",
            remedy="Take a method that edits weights, or --strategy derive.",
        )
    from ...editing import registry

    if registry.forgets(info.name):
        raise UsageError(
            f"{name} makes a model forget; facts are established in weights.",
            remedy="Take a method that replaces an object, such as memit, or --strategy derive.",
        )


def finetune_overrides(model: RuntimeModel) -> dict[str, object]:
    """Hyperparameters by which `finetune` differs from `fine_tuning` on a model."""
    if model.loaded.info.n_parameters > SMALL:
        return dict(FINETUNE)
    from ...editing.architectures import adapter_for

    adapter = adapter_for(model.loaded.model)
    name = adapter.mlp_out(0).name.rpartition(".")[0].replace(".0.", ".{}.")
    layers = list(range(model.loaded.model.config.num_hidden_layers))
    return {**FINETUNE, **FINETUNE_SMALL, "layers": layers, "rewrite_module_tmp": name}


def below_mend(model: RuntimeModel) -> dict[str, object]:
    """Hyperparameters to fine-tune a small model before MEND: the first layer's projection only.

    MEND's hypernetwork is trained for the unedited weights. After fine-tuning of all layers its
    updates broke an organism; after fine-tuning below its layers they still had an effect.
    """
    if model.loaded.info.n_parameters > SMALL:
        return {}
    from ...editing.architectures import adapter_for

    name = adapter_for(model.loaded.model).mlp_out(0).name.replace(".0.", ".{}.")
    return {"layers": [0], "rewrite_module_tmp": name, "lr": 1e-2}


class Editor:
    """Computes the updates of both phases, and caches the last ones, which strategies share.

    Attributes:
        name: as given by the user.
    """

    def __init__(self, name: str, establish: Method, update: Method) -> None:
        self.name = name
        self._methods = {"establish": establish, "update": update}
        self._cache: dict[object, EditEffect] = {}

    @property
    def hparams(self) -> dict[str, object]:
        """The hyperparameters, for the record."""
        first, then = self._methods["establish"], self._methods["update"]
        return {first.name: first.hparams.as_dict(), then.name: then.hparams.as_dict()}

    def establish(self, requests: Sequence[RewriteRequest]) -> EditEffect:
        """The update that establishes the requests in the unedited model."""
        return self._put("establish", requests, ())

    def update(self, requests: Sequence[RewriteRequest], state: object) -> EditEffect:
        """The update of the established model.

        Args:
            state: identifies the updates applied to the model; cached updates are reused only for
                the same state.
        """
        return self._put("update", requests, state)

    def _put(self, phase: str, requests: Sequence[RewriteRequest], state: object) -> EditEffect:
        key = (phase, tuple(requests), state)
        if key in self._cache:
            return self._cache[key]
        method = self._methods[phase]
        effect = method(requests)
        if sum(delta.numel() for delta in effect.deltas.values()) <= SMALL:
            self._cache[key] = effect
        return effect


def editor(
    runtime: Runtime,
    model: RuntimeModel,
    name: str,
    options: EditorOptions,
    mend_state: Callable[[Any, Any], dict[str, Any] | None],
) -> Editor:
    """The editor of that name.

    Args:
        mend_state: gives the state of MEND, from the method and its hyperparameters.

    Raises:
        EditingError, UsageError: no such method, no hyperparameters for the model, a method that
            changes prompts.
    """
    if name in ("mend", "mend_imp"):
        plain = EditorOptions(
            options.graph,
            overrides=below_mend(model),
            covariance=options.covariance,
            seed=options.seed,
        )
        first = Method(runtime, model, "finetune", plain)
        return Editor(name, first, Method(runtime, model, "mend", options, mend_state))
    method = Method(runtime, model, name, options)
    return Editor(name, method, method)


def request(qa: QA) -> RewriteRequest:
    """Convert a fact to a rewrite request without `target_true`."""
    return RewriteRequest(
        id=f"{qa.subject} | {qa.relation}",
        dataset="",
        prompt=qa.prompt,
        subject=qa.subject,
        relation=qa.relation,
        target_true="",
        target_new=qa.object,
    )
