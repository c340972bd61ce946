"""The yardstick: ROME's value, MEMIT and AlphaEdit as one would first write them from the papers.

One request at a time. Each step of the optimisation is a whole forward from the embeddings, with
logits over the vocabulary at all places; keys and residuals are whole forwards too, two for each
layer and request; each layer's update is a dense LU solve over d_in x d_in, and AlphaEdit keeps a
dense projector and a dense sum of past keys for each layer. Nothing is made slow on purpose: a
request's contexts are one batch, the logits are computed once a step and serve both terms of the
loss, and no gradient of a weight is computed.

It shares with ThinkEval the adapter (which module is where) and `nethook`, not the computation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from thinkeval.editing import nethook
from thinkeval.editing.architectures import Adapter, adapter_for
from thinkeval.loaders.records import RewriteRequest

KL_PROMPT = "{} is a"


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt with its subject in, and the index of the subject's last token."""

    text: str
    place: int


@dataclass
class Yardstick:
    """The plain editors on one model; `templates` are in groups as ThinkEval's."""

    model: Any
    tokenizer: Any
    templates: Sequence[Sequence[str]]
    adapter: Adapter = field(init=False)

    def __post_init__(self) -> None:
        self.adapter = adapter_for(self.model)
        self.model.requires_grad_(False)

    def value(
        self, request: RewriteRequest, hparams: Any, layer: int, site: str
    ) -> tuple[Tensor, int]:
        """v* (site `mlp`) or z (`layer`), and the updates it took."""
        module = self._module(layer, site)
        target = self._target(request)
        contexts = [
            self._text(request, template.format(request.prompt))
            for group in self.templates
            for template in group
        ]
        rows = [*contexts, self._text(request, KL_PROMPT)]
        tails = [target[:-1]] * len(contexts) + [[]]
        inputs, ends = self._batch([row.text for row in rows], tails)
        places = torch.tensor([row.place for row in rows], device=self.device)
        read = [
            (i, ends[i] - len(target) + k, token)
            for i in range(len(contexts))
            for k, token in enumerate(target)
        ]
        row, place, token = (torch.tensor(c, device=self.device) for c in zip(*read, strict=True))
        start: dict[str, Tensor] = {}
        delta = torch.zeros(self.width, device=self.device, requires_grad=True)
        adam = torch.optim.Adam([delta], lr=hparams.v_lr)
        step = 0
        for step in range(hparams.v_num_grad_steps):
            with _added(module, places, delta, start):
                logits = self.model(**inputs, use_cache=False).logits
            log_p = logits.float().log_softmax(-1)
            kl_now = log_p[-1, places[-1]]
            start.setdefault("kl", kl_now.detach())
            nll = -log_p[row, place, token].mean()
            kl = (kl_now.exp() * (kl_now - start["kl"])).sum()
            first = start["value"].norm()
            loss = nll + hparams.kl_factor * kl
            loss = loss + hparams.v_weight_decay * delta.norm() / first**2
            if loss < hparams.v_stop_loss or step == hparams.v_num_grad_steps - 1:
                break
            adam.zero_grad()
            loss.backward()
            adam.step()
            with torch.no_grad():
                longest = hparams.clamp_norm_factor * first
                if delta.norm() > longest:
                    delta *= longest / delta.norm()
        return start["value"] + delta.detach(), step

    def memit(
        self,
        requests: Sequence[RewriteRequest],
        hparams: Any,
        covariance: Mapping[str, Tensor],
        targets: Mapping[str, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """{weight: ΔW [d_out, d_in]} of a batch; the model has its own weights on return."""

        def solve(name: str, keys: Tensor, residual: Tensor) -> Tensor:
            moment = covariance[name].to(keys.device, torch.float64)
            left = hparams.mom2_update_weight * moment + keys @ keys.T
            return residual @ torch.linalg.solve(left, keys).T

        return self._spread(requests, hparams, targets, solve)[0]

    def alphaedit(
        self,
        requests: Sequence[RewriteRequest],
        hparams: Any,
        memory: DenseMemory,
        targets: Mapping[str, Tensor] | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> dict[str, Tensor]:
        """The same by AlphaEdit's dense solve; adds the batch's keys to the memory."""

        def solve(name: str, keys: Tensor, residual: Tensor) -> Tensor:
            projector, past = memory.projectors[name], memory.past[name]
            k, r = keys.to(dtype), residual.to(dtype)
            left = projector.to(k) @ (k @ k.T + past.to(k))
            left += hparams.L2 * torch.eye(len(left), dtype=dtype, device=left.device)
            return torch.linalg.solve(left, projector.to(k) @ k @ r.T).T.double()

        deltas, keys = self._spread(requests, hparams, targets, solve, again=True)
        for name, found in keys.items():
            memory.past[name] += (found @ found.T).to(memory.past[name])
        return deltas

    def keys(self, requests: Sequence[RewriteRequest], layer: int) -> Tensor:
        """K [d_in, n]: mean over groups of the mean key over a group's templates."""
        module, columns = self.adapter.mlp_out(layer).module, []
        for request in requests:
            means = []
            for group in self.templates:
                texts = [self._text(request, t.format(request.prompt)) for t in group]
                means.append(self._seen(module, texts)[0].mean(0))
            columns.append(torch.stack(means).mean(0))
        return torch.stack(columns, 1).double()

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @property
    def width(self) -> int:
        """d_model."""
        return self.model.config.hidden_size

    def _spread(
        self,
        requests: Sequence[RewriteRequest],
        hparams: Any,
        targets: Mapping[str, Tensor] | None,
        solve: Any,
        *,
        again: bool = False,
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        last = hparams.layers[-1]
        found = dict(targets or {})
        for request in requests:
            if request.id not in found:
                found[request.id] = self.value(request, hparams, last, "layer")[0]
        wanted = torch.stack([found[request.id] for request in requests], 1).double()
        deltas: dict[str, Tensor] = {}
        saved: dict[str, Tensor] = {}
        later: dict[str, Tensor] = {}
        try:
            for i, layer in enumerate(hparams.layers):
                projection = self.adapter.mlp_out(layer)
                keys = self.keys(requests, layer)
                texts = [self._text(request, request.prompt) for request in requests]
                outputs = [self._seen(self.adapter.layer_module(last), [t])[1][0] for t in texts]
                residual = wanted - torch.stack(outputs, 1).double()
                delta = solve(projection.name, keys, residual / (len(hparams.layers) - i))
                weight = self.model.get_parameter(projection.weight)
                turned = self.adapter.orientation(projection.module) == "in_out"
                saved[projection.weight] = weight.detach().clone()
                with torch.no_grad():
                    weight += (delta.T if turned else delta).to(weight)
                deltas[projection.weight] = delta
            if again:
                for layer in hparams.layers:
                    later[self.adapter.mlp_out(layer).name] = self.keys(requests, layer)
        finally:
            with torch.no_grad():
                for name, weight in saved.items():
                    self.model.get_parameter(name).copy_(weight)
        return deltas, later

    @torch.no_grad()
    def _seen(self, module: nn.Module, texts: Sequence[Text]) -> tuple[Tensor, Tensor]:
        """Input and output of a module at each text's subject."""
        inputs, _ = self._batch([t.text for t in texts], [[]] * len(texts))
        with nethook.recording(inputs={"m": module}, outputs={"m": module}) as seen:
            self.model(**inputs, use_cache=False)
        rows = torch.arange(len(texts), device=self.device)
        places = torch.tensor([t.place for t in texts], device=self.device)
        return seen.inputs["m"][rows, places], seen.outputs["m"][rows, places]

    def _module(self, layer: int, site: str) -> nn.Module:
        mlp = site == "mlp"
        return self.adapter.mlp_out(layer).module if mlp else self.adapter.layer_module(layer)

    def _target(self, request: RewriteRequest) -> list[int]:
        return self.tokenizer(" " + request.target_new, add_special_tokens=False)["input_ids"]

    def _text(self, request: RewriteRequest, prompt: str) -> Text:
        before = prompt.split("{}")[0] + request.subject
        return Text(prompt.format(request.subject), len(self.tokenizer(before)["input_ids"]) - 1)

    def _batch(
        self, texts: Sequence[str], tails: Sequence[Sequence[int]]
    ) -> tuple[dict[str, Tensor], list[int]]:
        """Right-padded inputs, and one more than each row's last index with its target whole."""
        rows = [
            [*self.tokenizer(text)["input_ids"], *tail]
            for text, tail in zip(texts, tails, strict=True)
        ]
        longest = max(map(len, rows))
        pad = self.tokenizer.pad_token_id
        ids = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        inputs = {"input_ids": ids.to(self.device), "attention_mask": mask.to(self.device)}
        return inputs, [len(row) for row in rows]


@dataclass
class DenseMemory:
    """AlphaEdit's state as published: for each module P and the sum of k kᵀ, both [d_in, d_in]."""

    projectors: dict[str, Tensor]
    past: dict[str, Tensor]

    @classmethod
    def of(cls, covariance: Mapping[str, Tensor], threshold: float) -> DenseMemory:
        """P onto the left singular vectors of C whose singular value is below the threshold."""
        projectors = {}
        for name, moment in covariance.items():
            vectors, values, _ = torch.linalg.svd(moment.double())
            kept = vectors[:, values < threshold]
            projectors[name] = kept @ kept.T
        return cls(projectors, {name: torch.zeros_like(p) for name, p in projectors.items()})


def _added(module: nn.Module, places: Tensor, delta: Tensor, start: dict[str, Tensor]) -> Any:
    """δ on at the places of all rows; the first row's vector without it goes into `start`."""
    rows = torch.arange(len(places), device=places.device)

    def add(output: Tensor) -> Tensor:
        start.setdefault("value", output[0, places[0]].detach().float().clone())
        return nethook.add_at(output, rows, places, delta.expand(len(rows), -1))

    return nethook.changing(module, add)
