"""Probing in one batch against what one would write first: one prompt, or one sample, at a time.

    python benchmarks/editing/probe_batching.py [--model PATH] [--prompts 72] [--samples 5]
        [--threads 1] [--json]

All three ask the same prompts of the same model in the same process, with the same number of
samples and tokens. "One prompt at a time" is `model.generate(num_return_sequences=k)` for each
prompt, "one sample at a time" is `model.generate` for each sample; both from the full
distribution, as the probe does. Targets: at least 4 and 12 times faster in one batch.

The answers are random, so their statistics are compared and not their text: mean length, fraction
of right answers, and how often the commonest first words come; each as a difference in standard
errors. Without `--model`, a random GPT-2 of the organism's size (4 layers, 128 wide) is built in
place; it never ends a sentence on purpose, so that stopping early saves next to nothing. With a
trained model it does.

    python benchmarks/editing/probe_batching.py --likelihood world --model smollm2 [--prompts 429]

asks the facts of a graph by likelihood instead, in facts per second of processor time, against
plain transformers, one fact at a time: `generate`, greedy, as many tokens as the object has; and
one teacher-forced forward pass of prompt and object, which must give the same likelihoods.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, variance
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers import models as token_models
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from transformers.utils import logging

from thinkeval.editing import models
from thinkeval.editing.probe import ProbeItem, ProbeSettings, probe
from thinkeval.editing.probe.matching import contains, first_sentence
from thinkeval.loaders import graph_yaml, graphs

TARGETS = {"one prompt at a time": 4.0, "one sample at a time": 12.0}
SIGMAS = 4.5
"""Largest accepted difference: over some 30 comparisons, chance exceeds it once in 5,000 times."""

Answers = list[list[str]]
"""For each prompt, the first sentences of its samples."""


class Statistic(NamedTuple):
    """A mean over all answers, with its standard error."""

    mean: float
    error: float


def main() -> int:
    """Measure, print a table; 0 if the targets are met and the statistics agree."""
    options = _options()
    torch.set_num_threads(options.threads)
    logging.set_verbosity_error()  # `generate` warns whenever an answer ends at once
    if options.likelihood:
        return _likelihood(models.load(options.model), options)
    items = _items(options.prompts)
    loaded = models.load(options.model) if options.model else _organism_sized(items)
    settings = ProbeSettings(
        measures=("p",), samples=options.samples, max_new_tokens=options.tokens, chat="never"
    )
    ways: dict[str, Callable[[int], Answers]] = {
        "one batch": lambda seed: _one_batch(loaded, items, settings, seed),
        "one prompt at a time": lambda seed: _generate(
            loaded, items, settings, seed, together=True
        ),
        "one sample at a time": lambda seed: _generate(
            loaded, items, settings, seed, together=False
        ),
    }
    seconds, answers = _measure(ways, options.rounds)
    same, notes = _compared(items, answers)
    notes.append(
        f"{loaded.info.name}: {loaded.info.n_parameters / 1e6:.2f} M parameters on "
        f"{loaded.info.device}, up to {options.tokens} tokens, {options.threads} thread(s), "
        f"best of {options.rounds}."
    )
    bench.agree(same, " ".join(notes))
    what = f"{len(items)} prompts x {options.samples} samples, one batch"
    lines = [
        bench.Line(
            what, "s", seconds["one batch"], seconds[name], name, bench.Goal("ratio", ">=", least)
        )
        for name, least in TARGETS.items()
    ]
    return bench.show("probe_batching", lines, notes, as_json=options.json)


def _options() -> argparse.Namespace:
    parser = bench.parser(__doc__)
    parser.add_argument("--model", help="a name or folder; else a random model of 4 layers")
    parser.add_argument("--prompts", type=int, default=72)
    parser.add_argument("--likelihood", metavar="GRAPH", help="of this many facts of the graph")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=16, help="longest answer")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="2 or more")
    return parser.parse_args()


CLOSE = 1e-4
"""Largest accepted difference of two likelihoods: other batches add in another order."""


def _likelihood(loaded: models.LoadedModel, options: argparse.Namespace) -> int:
    """Facts per second of processor time by likelihood, and one at a time."""
    facts = graph_yaml.load(graphs.path(options.likelihood)).graph.facts
    n = min(options.prompts, len(facts))
    items = [
        ProbeItem(fact.id, fact.prompt.replace("{}", fact.subject), fact.object)
        for fact in (facts[i * len(facts) // n] for i in range(n))
    ]
    settings = ProbeSettings(measures=("likelihood",), chat="never")
    rows = [_row(loaded, item) for item in items]
    seconds: dict[str, float] = {}
    found: dict[str, list[float]] = {}
    for name, run in {
        "probe": lambda: [result.likelihood for result in probe(loaded, items, settings)],
        "generate, one fact at a time": lambda: [_greedy(loaded, *row) for row in rows],
        "teacher-forced, one fact at a time": lambda: [_forced(loaded, *row) for row in rows],
    }.items():
        bench.say(name)
        began = time.process_time()
        found[name] = run()
        seconds[name] = time.process_time() - began
    ours, generated, forced = found.values()
    gap = max(abs(a - b) for a, b in zip(ours, forced, strict=True))
    right = sum(1 for value in generated if value)
    notes = [
        f"{loaded.info.name}: {loaded.info.n_parameters / 1e6:.1f} M parameters on "
        f"{loaded.info.device}, {options.threads} thread(s), {n} facts of {options.likelihood}; "
        f"largest difference of two likelihoods {gap:.1g}; greedy text names "
        f"{right} objects, likelihood is .5 or more for {sum(p >= 0.5 for p in ours)}."
    ]
    bench.agree(gap <= CLOSE, notes[0])
    lines = [
        bench.Line(
            f"likelihood of {n} facts, processor time", "facts/s", n / seconds["probe"],
            n / spent, name,
        )
        for name, spent in seconds.items()
        if name != "probe"
    ]  # fmt: skip
    return bench.show("probe_batching --likelihood", lines, notes, as_json=options.json)


def _row(loaded: models.LoadedModel, item: ProbeItem) -> tuple[list[int], list[int]]:
    """Tokens of the prompt and of the object."""
    prompt, name = (
        loaded.tokenizer(text, add_special_tokens=special)["input_ids"]
        for text, special in ((item.prompt, True), (f" {item.object}", False))
    )
    return prompt, name


@torch.no_grad()
def _greedy(loaded: models.LoadedModel, prompt: list[int], name: list[int]) -> float:
    """1 if greedy text of the object's length is the object, else 0."""
    ids = torch.tensor([prompt], device=loaded.device)
    out = loaded.model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=len(name),
        pad_token_id=loaded.tokenizer.pad_token_id,
    )  # fmt: skip
    return float(out[0, len(prompt) :].tolist() == name)


@torch.no_grad()
def _forced(loaded: models.LoadedModel, prompt: list[int], name: list[int]) -> float:
    """Probability of the object after the prompt, by one forward pass."""
    ids = torch.tensor([[*prompt, *name]], device=loaded.device)
    log_p = loaded.model(ids).logits[0, len(prompt) - 1 : -1].float().log_softmax(-1)
    return float(log_p.gather(1, ids[0, len(prompt) :, None]).double().sum().exp())


def _items(n: int) -> list[ProbeItem]:
    """The first n distinct prompts of the graph that ships with the package."""
    graph = graph_yaml.load(graphs.path("hogwarts")).graph
    found: dict[str, ProbeItem] = {}
    for fact in graph.facts:
        for cloze in (fact.prompt, *fact.paraphrases):
            prompt = cloze.replace("{}", fact.subject)
            item = ProbeItem(prompt, prompt, fact.object, aliases=graph.aliases(fact.object))
            found.setdefault(prompt, item)
    if len(found) < n:
        raise SystemExit(f"the graph has {len(found)} prompts; ask for no more with --prompts")
    # Evenly over the graph, so that short and long prompts are mixed as in a real probe.
    every = list(found.values())
    return [every[i * len(every) // n] for i in range(n)]


def _organism_sized(items: Sequence[ProbeItem]) -> models.LoadedModel:
    tokenizer = Tokenizer(token_models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([f"{i.prompt} {i.object}." for i in items], trainer)
    end = "<|endoftext|>"
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end, pad_token=end)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(wrapped), n_positions=128, n_embd=128, n_layer=4, n_head=4, n_inner=512,
        initializer_range=0.08, bos_token_id=0, eos_token_id=0, pad_token_id=0,
    )  # fmt: skip
    return models.wrap(GPT2LMHeadModel(config), wrapped, name="random GPT-2, 4 x 128")


def _one_batch(
    loaded: models.LoadedModel, items: list[ProbeItem], settings: ProbeSettings, seed: int
) -> Answers:
    drawn = ProbeSettings(**{**settings.as_dict(), "measures": ("p",), "seed": seed})
    return [list(result.answers) for result in probe(loaded, items, drawn)]


def _generate(
    loaded: models.LoadedModel,
    items: list[ProbeItem],
    settings: ProbeSettings,
    seed: int,
    *,
    together: bool,
) -> Answers:
    """With transformers' own `generate`, all samples of a prompt together or each by itself."""
    torch.manual_seed(seed)
    tokenizer = loaded.tokenizer
    per_call = settings.samples if together else 1
    answers: Answers = []
    for item in items:
        inputs = tokenizer(item.prompt, return_tensors="pt").to(loaded.device)
        texts: list[str] = []
        while len(texts) < settings.samples:
            with torch.no_grad():
                output: Any = loaded.model.generate(
                    input_ids=inputs["input_ids"],
                    attention_mask=inputs["attention_mask"],
                    do_sample=True,
                    top_k=0,
                    top_p=1.0,
                    temperature=settings.temperature,
                    num_return_sequences=per_call,
                    max_new_tokens=settings.max_new_tokens,
                    pad_token_id=tokenizer.pad_token_id,
                )
            tails = output[:, inputs["input_ids"].shape[1] :]
            texts += tokenizer.batch_decode(tails, skip_special_tokens=True)
        names = (item.object, *item.aliases)
        answers.append([first_sentence(text, names) for text in texts])
    return answers


def _measure(
    ways: dict[str, Callable[[int], Answers]], rounds: int
) -> tuple[dict[str, float], dict[str, Answers]]:
    """Best wall time of each way, and its answers over all rounds (each with its own seed)."""
    seconds = dict.fromkeys(ways, math.inf)
    answers: dict[str, Answers] = {name: [] for name in ways}
    for name, way in ways.items():
        way(10_000)  # warm: first calls allocate and fill caches
        for seed in range(rounds):
            start = time.perf_counter()
            said = way(seed)
            seconds[name] = min(seconds[name], time.perf_counter() - start)
            before = answers[name] or [[] for _ in said]
            answers[name] = [old + new for old, new in zip(before, said, strict=True)]
    return seconds, answers


def _compared(items: list[ProbeItem], answers: dict[str, Answers]) -> tuple[bool, list[str]]:
    """Whether the statistics of all ways agree, and a sentence about each way."""
    common = _common_first_words(answers)
    tables = {name: _statistics(items, said, common) for name, said in answers.items()}
    reference = tables["one batch"]
    agree, notes = True, []
    for name, table in tables.items():
        gaps = {key: _gap(table[key], reference[key]) for key in table}
        worst = max(gaps, key=lambda key: gaps[key])
        agree = agree and gaps[worst] <= SIGMAS
        notes.append(
            f"{name}: mean length {table['length'].mean:.1f} characters, fraction right "
            f"{table['right'].mean:.3f}, largest gap {gaps[worst]:.1f} sigma ({worst})."
        )
    return agree, notes


def _statistics(
    items: list[ProbeItem], answers: Answers, common: Sequence[str]
) -> dict[str, Statistic]:
    names = [(item.object, *item.aliases) for item in items]
    table = {
        "length": _statistic([[float(len(a)) for a in said] for said in answers]),
        "right": _statistic(
            [[float(contains(a, n)) for a in said] for n, said in zip(names, answers, strict=True)]
        ),
    }
    for word in common:
        begins = [[float(_first_word(a) == word) for a in said] for said in answers]
        table[f"begins '{word}'"] = _statistic(begins)
    return table


def _statistic(values: list[list[float]]) -> Statistic:
    """The mean over all prompts; its error comes from the spread within each prompt alone.

    All ways ask the same prompts, so that the spread between prompts is no error.
    """
    within = [variance(row) / len(row) for row in values]
    return Statistic(fmean(map(fmean, values)), math.sqrt(sum(within)) / len(values))


def _gap(one: Statistic, two: Statistic) -> float:
    """Difference of two means in standard errors."""
    error = math.hypot(one.error, two.error)
    return abs(one.mean - two.mean) / error if error else 0.0


def _common_first_words(answers: dict[str, Answers]) -> list[str]:
    words = Counter(_first_word(a) for said in answers.values() for row in said for a in row)
    return [word for word, _ in words.most_common(15)]


def _first_word(answer: str) -> str:
    return answer.split()[0] if answer.split() else ""


if __name__ == "__main__":
    raise SystemExit(main())
