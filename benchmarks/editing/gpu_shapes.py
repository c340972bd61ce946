"""Models of gpt2-xl's and Llama-3-8B's shape with random weights: seconds per edit, peak memory.

    python benchmarks/editing/gpu_shapes.py          # both shapes on the GPU, if there is one
    python benchmarks/editing/gpu_shapes.py --tiny   # 1/16 of each, on any machine, in a minute

MEMIT and AlphaEdit with the published hyperparameters of each model, on random weights (float32, as
published) and random covariances: quality is not measured, all of the work is done. `--scale`
divides the widths and the number of heads by a number, `--tiny` the number of layers too. The
yardstick edits `--yardstick-requests` of the same requests with the same contexts in the same
process; its seconds per edit are counted up for more. Step counts have to be equal and targets
within 2e-3 of the yardstick's. Memory is the GPU's peak while the method runs, with the weights;
the yardstick's dense matrices are on the GPU as well. Llama-3-8B needs about 60 GB.
"""

from __future__ import annotations

import dataclasses
import gc
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from words import word_tokenizer
from yardstick_editors import DenseMemory, Yardstick

from thinkeval.editing import hparams as hparam_files
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.covariance.statistics import Covariance
from thinkeval.editing.registry import get
from thinkeval.loaders.records import RewriteRequest

GOAL, CLOSE = 3.0, 2e-3
CONTEXTS = (("{}",), tuple(f"{' '.join(['word'] * 9)} a{i} . {{}}" for i in range(5)))


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--shapes", nargs="+", choices=["gpt2-xl", "llama3-8b"])
    parser.add_argument("--methods", nargs="+", default=["memit", "alphaedit"])
    parser.add_argument("--requests", type=int, nargs="+", default=[1, 100], help="of a batch")
    parser.add_argument("--yardstick-requests", type=int, default=3)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="scale 16, 4 layers, 1 and 8 requests")
    options = parser.parse_args()
    if options.tiny:
        options.scale, options.requests = 16, [1, 8]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu" and options.scale == 1:
        raise SystemExit("No GPU here. Try whether it works with --tiny.")
    lines: list[bench.Line] = []
    for shape in options.shapes or ["gpt2-xl", "llama3-8b"]:
        lines += shape_lines(shape, options, device)
        gc.collect()
        torch.cuda.empty_cache()
    named = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    notes = [
        f"{named}, scale 1/{options.scale}, float32, {sum(map(len, CONTEXTS))} contexts; the "
        f"yardstick edited {options.yardstick_requests} requests one by one, counted up.",
        f"Equal step counts; targets within {CLOSE:g} of the yardstick's.",
    ]
    return bench.show("gpu_shapes", lines, notes, as_json=options.json)


def shape_lines(shape: str, options: Any, device: torch.device) -> list[bench.Line]:
    """All methods and batch sizes on one shape."""
    tokenizer, words = word_tokenizer(1000)
    model = _model(shape, options.scale, 4 if options.tiny else None, tokenizer, device)
    requests = _requests(words, max(*options.requests, options.yardstick_requests))
    lines = []
    for method in options.methods:
        bench.say(f"{shape}, {method}")
        hparams = _hparams(method, shape, model)
        adapter = adapter_for(model)
        moments = {adapter.mlp_out(layer).name: _moment(adapter, layer) for layer in hparams.layers}
        lines += _method_lines(
            shape, method, (model, tokenizer), hparams, moments, requests, options
        )
    return lines


def _method_lines(
    shape: str,
    method: str,
    pair: tuple[Any, Any],
    hparams: Any,
    moments: dict[str, torch.Tensor],
    requests: Sequence[RewriteRequest],
    options: Any,
) -> list[bench.Line]:
    model, tokenizer = pair
    device = next(model.parameters()).device
    some = requests[: options.yardstick_requests]
    plain = Yardstick(model, tokenizer, CONTEXTS)
    covariance = Covariance(moments)
    effects: dict[int, Any] = {}

    def ours(n: int) -> None:
        effects[n] = get(method).execute(
            model, tokenizer, requests[:n], hparams, covariance, context_templates=CONTEXTS
        )

    vectors: dict[str, tuple[torch.Tensor, int]] = {}
    memory = _memory(moments, hparams, device) if method == "alphaedit" else None

    def theirs() -> None:
        for request in some:
            vectors[request.id] = plain.value(request, hparams, hparams.layers[-1], "layer")
            given = {request.id: vectors[request.id][0]}
            if memory is None:
                plain.memit([request], hparams, moments, given)
            else:
                plain.alphaedit([request], hparams, memory, given, torch.float32)

    instead, peak_instead = _measured(theirs, device)
    instead /= len(some)
    first, _ = _measured(lambda: ours(1), device)
    lines = [bench.Line(f"{shape} {method}, first edit (factors C)", "s", first)]
    for n in options.requests:
        took, peak = _measured(lambda n=n: ours(n), device)
        goal = bench.Goal("ratio", ">=", GOAL) if n >= 100 else None
        what = f"{shape} {method}, {n} edits"
        lines.append(bench.Line(what, "s", took, n * instead, "one by one", goal))
        if device.type == "cuda":
            lines.append(bench.Line(f"{what}: peak", "GB", peak, peak_instead, "one by one"))
    _compare(effects[max(options.requests)], vectors)
    return lines


def _measured(function: Callable[[], None], device: torch.device) -> tuple[float, float]:
    """Seconds, and the GPU's peak memory in GB."""
    if device.type != "cuda":
        return bench.seconds(function), 0.0
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)

    def whole() -> None:
        function()
        torch.cuda.synchronize(device)

    return bench.seconds(whole), torch.cuda.max_memory_allocated(device) / 1e9


def _compare(effect: Any, vectors: dict[str, tuple[torch.Tensor, int]]) -> None:
    for name, (vector, steps) in vectors.items():
        if name in effect.targets:
            bench.agree(effect.n_steps[name] == steps, f"steps of {name}")
            error = float((effect.targets[name] - vector).norm() / vector.norm())
            bench.agree(error <= CLOSE, f"{name}: relative error {error:.1e}")


def _model(
    shape: str, scale: int, n_layers: int | None, tokenizer: Any, device: torch.device
) -> Any:
    ends: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    torch.manual_seed(0)
    if shape == "gpt2-xl":
        heads = max(1, 25 // scale)
        config: Any = GPT2Config(
            vocab_size=max(50257 // scale, len(tokenizer)),
            n_embd=64 * heads,
            n_layer=n_layers or 48,
            n_head=heads,
            **ends,
        )
        kind: Any = GPT2LMHeadModel
    else:
        heads = max(2, 32 // scale)
        config = LlamaConfig(
            vocab_size=max(128256 // scale, len(tokenizer)),
            hidden_size=128 * heads,
            intermediate_size=448 * heads,
            num_hidden_layers=n_layers or 32,
            num_attention_heads=heads,
            num_key_value_heads=max(1, heads // 4),
            rms_norm_eps=1e-5,
            rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
            **ends,
        )
        kind = LlamaForCausalLM
    with device:
        return kind(config).eval()


def _hparams(method: str, shape: str, model: Any) -> Any:
    """The published ones; of fewer layers than they name, the first ones."""
    hparams: Any = hparam_files.load(method, shape)
    if hparams.layers[-1] < model.config.num_hidden_layers:
        return hparams
    return dataclasses.replace(hparams, layers=(0, 1), v_loss_layer=None, rewrite_module_tmp=None)


def _moment(adapter: Any, layer: int) -> torch.Tensor:
    """A random covariance [d_in, d_in] with a null space: an eighth of full rank and a bit."""
    module, _, weight = adapter.mlp_out(layer)
    shape = adapter.model.get_parameter(weight).shape
    size = shape[0] if adapter.orientation(module) == "in_out" else shape[1]
    factor = torch.randn(size, size // 8, generator=torch.Generator().manual_seed(layer))
    return torch.diag(torch.full((size,), 1e-3)) + factor @ factor.T * (8 / size)


def _memory(moments: dict[str, torch.Tensor], hparams: Any, device: torch.device) -> DenseMemory:
    there = {name: moment.to(device) for name, moment in moments.items()}
    memory = DenseMemory.of(there, hparams.nullspace_threshold)
    return DenseMemory(
        {name: p.float() for name, p in memory.projectors.items()},
        {name: p.float() for name, p in memory.past.items()},
    )


def _requests(words: Sequence[str], n: int) -> list[RewriteRequest]:
    """Prompts and targets about as long as CounterFact's."""
    rng = random.Random(0)
    found = []
    for i in range(n):
        subject, new = (" ".join(rng.sample(words, k)) for k in (3, 2))
        before, after = (" ".join(rng.choices(words, k=k)) for k in (rng.choice([0, 3]), 4))
        found.append(
            RewriteRequest(
                f"r{i}", "bench", f"{before} {{}} {after}".strip(), subject, "r", "", new
            )
        )
    return found


if __name__ == "__main__":
    raise SystemExit(main())
