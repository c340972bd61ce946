"""Saved edits: the same bits back, only on the model they were made for, and off again."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace

import pytest
import safetensors.torch
import torch

from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.deltas import EditEffect, applied, files, is_edited, low_rank
from thinkeval.editing.deltas.export import ABOUT, export_model
from thinkeval.editing.deltas.files import DeltaMeta, apply_in_order, load, save
from thinkeval.editing.errors import DeltaError
from thinkeval.editing.in_context.demonstrations import InContext
from thinkeval.editing.methods import rome
from thinkeval.editing.models import load as load_model
from thinkeval.editing.models import weights_digest, wrap
from thinkeval.loaders.records import Fact, RewriteRequest

NAMES = {
    "gpt2": "transformer.h.1.mlp.c_proj.weight",
    "llama": "model.layers.1.mlp.down_proj.weight",
}
REQUESTS = [
    RewriteRequest("harry", "t", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny"),
    RewriteRequest("ron", "t", "{} studied at", "Ron Weasley", "r", "Hogwarts", "Ilvermorny"),
]


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=6)


def edited(pair, requests=REQUESTS):
    hparams = rome.HyperParams(
        layers=(1,), v_num_grad_steps=3, v_lr=0.1, v_weight_decay=0.0, clamp_norm_factor=4.0,
        kl_factor=0.0, mom2_adjustment=True,
    )  # fmt: skip
    moments = covariance.collect(*pair, CORPUS * 8, [1], dtype="float64")
    effect = rome.execute(*pair, requests, hparams, moments, context_templates=["{}", "So {}"])
    meta = DeltaMeta(
        weights_digest=weights_digest(pair[0]),
        method="rome",
        hparams=hparams.as_dict(),
        requests=tuple({"id": r.id, "subject": r.subject} for r in requests),
        covariance_digest=moments.digest,
        seed=3,
        model="tiny",
    )
    return effect, meta


def dense(model, seed=0, size=0.1, dtype=torch.float32):
    name = NAMES[model.config.model_type]
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(model.get_parameter(name).shape, generator=generator, dtype=dtype)
    return EditEffect({name: size * noise})


def meta_of(net, **changes):
    return DeltaMeta(weights_digest=weights_digest(net), method="test", **changes)


def same_bits(a, b):
    return a.dtype == b.dtype and torch.equal(a.view(torch.int32), b.view(torch.int32))


def test_rome_says_the_factors_of_its_update(pair):
    effect, _ = edited(pair)
    ((name, (left, right)),) = effect.factors.items()
    assert list(effect.deltas) == [name] == [NAMES[pair[0].config.model_type]]
    assert left.shape[1] == right.shape[0] == len(REQUESTS)
    assert same_bits((left.double() @ right.double()).float(), effect.deltas[name])


def test_an_edit_comes_back_to_the_bit_with_all_that_belongs_to_it(pair, tmp_path):
    effect, meta = edited(pair)
    path = tmp_path / "new" / "edit.safetensors"
    digest = save(effect, path, meta)
    saved = load(path)
    assert saved.digest == digest
    assert saved.meta.hparams == json.loads(json.dumps(meta.hparams))
    assert replace(saved.meta, hparams={}) == replace(meta, hparams={})
    assert saved.meta.covariance_digest
    assert saved.meta.thinkeval
    ((name, delta),) = effect.deltas.items()
    assert same_bits(saved.effect.deltas[name], delta)
    assert saved.low_rank == (name,)
    assert saved.effect.templates == effect.templates == (("{}", "So {}"),)
    assert saved.effect.n_steps == effect.n_steps
    for request in REQUESTS:
        assert torch.equal(saved.effect.targets[request.id], effect.targets[request.id])
    stored = safetensors.torch.load_file(path)
    assert {key for key in stored if not key.startswith("target:")} <= {
        f"{part}:{name}" for part in ("left", "right", "at", "is")
    }
    assert path.stat().st_size < delta.numel() * 4
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    with applied(pair[0], effect):
        wanted = weights_digest(pair[0])
    with applied(pair[0], saved.effect):
        assert weights_digest(pair[0]) == wanted


def test_targets_read_from_a_file_can_be_passed_on(pair, tmp_path):
    effect, meta = edited(pair)
    save(effect, tmp_path / "e", meta)
    saved = load(tmp_path / "e")
    again = rome.execute(
        *pair,
        REQUESTS,
        rome.HyperParams(
            layers=(1,), v_num_grad_steps=3, v_lr=0.1, v_weight_decay=0.0, clamp_norm_factor=4.0,
            kl_factor=0.0, mom2_adjustment=True,
        ),
        covariance.collect(*pair, CORPUS * 8, [1], dtype="float64"),
        context_templates=saved.effect.templates,
        targets=saved.effect.targets,
    )  # fmt: skip
    assert again.n_steps == {"harry": 0, "ron": 0}
    for name, delta in effect.deltas.items():
        assert same_bits(again.deltas[name], delta)


@pytest.mark.parametrize("rank", [1, 5, 40])
def test_factors_are_stored_only_where_they_are_less(rank):
    generator = torch.Generator().manual_seed(rank)
    left = torch.randn(48, rank, dtype=torch.float64, generator=generator)
    right = torch.randn(rank, 64, dtype=torch.float64, generator=generator)
    delta = (left @ right).float()
    parts = low_rank.pack(delta, (left, right))
    assert ("delta" in parts) == (rank == 40)
    assert same_bits(low_rank.unpack(parts)[0], delta)


def test_the_product_is_the_sum_of_outer_products_in_order():
    generator = torch.Generator().manual_seed(1)
    left = torch.randn(70, 3, dtype=torch.float64, generator=generator)
    right = torch.randn(3, 9000, dtype=torch.float64, generator=generator)
    wanted = torch.outer(left[:, 0], right[0])
    for k in (1, 2):
        wanted = wanted + torch.outer(left[:, k], right[k])
    assert same_bits(low_rank.product(left, right), wanted.float())
    assert not low_rank.product(left[:, :0], right[:0]).any()


def test_entries_that_round_differently_are_patched_to_the_bit():
    left = torch.ones(30, 1, dtype=torch.float64)
    right = torch.linspace(0, 1, 30, dtype=torch.float64)[None]
    delta = (left @ right).float()
    delta[3, 4] = torch.nextafter(delta[3, 4], torch.tensor(2.0))
    delta[5, 0] = -0.0
    parts = low_rank.pack(delta, (left, right))
    assert parts["at"].tolist() == [3 * 30 + 4, 5 * 30]
    assert same_bits(low_rank.unpack(parts)[0], delta)
    # Factors that are not the update's are of no use and are not kept.
    assert set(low_rank.pack(torch.flip(delta, (1,)), (left, right))) == {"delta"}
    assert set(low_rank.pack(delta, (left[:5], right))) == {"delta"}
    assert set(low_rank.pack(delta.double(), (left, right))) == {"delta"}


def test_an_update_of_full_rank_and_other_types_come_back(pair, tmp_path):
    for dtype in (torch.float32, torch.bfloat16):
        effect = dense(pair[0], dtype=dtype)
        save(effect, tmp_path / "e", meta_of(pair[0]))
        saved = load(tmp_path / "e")
        assert saved.low_rank == ()
        for name, delta in effect.deltas.items():
            assert saved.effect.deltas[name].dtype == dtype
            assert torch.equal(saved.effect.deltas[name], delta)
    save(EditEffect(), tmp_path / "none", meta_of(pair[0]))
    assert load(tmp_path / "none").effect.deltas == {}


def test_several_go_on_in_order_and_come_off_to_the_bit(pair, tmp_path):
    model = pair[0]
    before = weights_digest(model)
    effects = [edited(pair)[0], dense(model, 1), dense(model, 2, 1e8)]
    for i, effect in enumerate(effects):
        save(effect, tmp_path / f"{i}", meta_of(model))
    paths = [tmp_path / f"{i}" for i in range(3)]

    def digest_of(order):
        with apply_in_order(model, [paths[i] for i in order]) as on:
            assert on is model
            return weights_digest(model)

    # 1e8 absorbs what comes after it, so the order shows.
    assert digest_of([0, 1, 2]) != digest_of([2, 1, 0])
    with applied(model, effects[0]), applied(model, effects[1]), applied(model, effects[2]):
        wanted = weights_digest(model)
    assert digest_of([0, 1, 2]) == wanted
    with pytest.raises(RuntimeError), apply_in_order(model, paths):
        raise RuntimeError
    assert weights_digest(model) == before
    assert not is_edited(model)


def test_an_edit_is_refused_on_another_model(pair, tmp_path):
    model = pair[0]
    save(dense(model), tmp_path / "mine", meta_of(model, model="tiny", edit="e-1"))
    other = build_tiny(model.config.model_type, seed=7)[0]
    foreign = meta_of(other)
    save(dense(other), tmp_path / "theirs", foreign)
    before = weights_digest(other)
    for deltas in ([tmp_path / "mine"], [tmp_path / "theirs", tmp_path / "mine"]):
        with (
            pytest.raises(DeltaError, match="e-1 was made for another model \\(tiny"),
            apply_in_order(other, deltas),
        ):
            pytest.fail("the block was entered")
        assert weights_digest(other) == before
    # The type of the numbers is part of the weights.
    with (
        pytest.raises(DeltaError, match="another model"),
        apply_in_order(other.to(torch.bfloat16), [tmp_path / "theirs"]),
    ):
        pytest.fail("the block was entered")


def test_an_edit_of_a_sequence_goes_on_only_after_the_earlier_ones(pair, tmp_path):
    model = pair[0]
    first = save(dense(model), tmp_path / "0", meta_of(model))
    save(dense(model, 1), tmp_path / "1", meta_of(model, after=(first,)))
    both, alone = [tmp_path / "0", tmp_path / "1"], [tmp_path / "0"]
    # The second block: made for the unedited model, so also while another edit is on.
    with apply_in_order(model, both), apply_in_order(model, alone):
        assert is_edited(model)
    for order in (["1"], ["1", "0"]):
        with (
            pytest.raises(DeltaError, match="on top of 1 other"),
            apply_in_order(model, [tmp_path / name for name in order]),
        ):
            pytest.fail("the block was entered")


@dataclass(frozen=True)
class Change:
    texts: tuple[str, ...]
    facts: tuple[Fact, ...] = ()

    def __call__(self, text: str) -> str:
        return "".join(self.texts) + text


HERE = __name__.partition(".")[0]


def test_a_prompt_change_of_plain_data_is_saved(pair, tmp_path, monkeypatch):
    trusted = ("thinkeval.", HERE)
    monkeypatch.setattr("thinkeval.editing.deltas.prompt_change.TRUSTED", trusted)
    for change in (
        Change(("New Fact: a b\n",), (Fact("s", "r", "o", "{} r", questions=("q",)),)),
        InContext(("New Fact: a b\nPrompt: a b\n\n",), ("Harry studied at Ilvermorny",)),
    ):
        save(EditEffect(prompt_change=change), tmp_path / "p", meta_of(pair[0]))
        assert load(tmp_path / "p").effect.prompt_change == change
        assert load(tmp_path / "p").effect.prompt_change("x") == change("x") != "x"
    change = Change(("New Fact: a b\n",))
    save(EditEffect(prompt_change=change), tmp_path / "p", meta_of(pair[0]))
    saved = load(tmp_path / "p")
    assert saved.effect.prompt_change == change
    assert saved.effect.prompt_change("x") == "New Fact: a b\nx"
    with pytest.raises(DeltaError, match="changes the prompt"), apply_in_order(pair[0], [saved]):
        pytest.fail("the block was entered")
    # A file may not name a class of just any package.
    monkeypatch.setattr("thinkeval.editing.deltas.prompt_change.TRUSTED", ("thinkeval.",))
    with pytest.raises(DeltaError, match="no editing method"):
        load(tmp_path / "p")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (str.upper, "not plain data"),
        (Change(texts=object()), "contains a object"),  # type: ignore[arg-type]
        (Change(texts=["a list"]), "changes when it is saved"),  # type: ignore[arg-type]
    ],
)
def test_any_other_prompt_change_is_refused(pair, tmp_path, monkeypatch, change, message):
    monkeypatch.setattr("thinkeval.editing.deltas.prompt_change.TRUSTED", (HERE,))
    with pytest.raises(DeltaError, match=message):
        save(EditEffect(prompt_change=change), tmp_path / "p", meta_of(pair[0]))
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_saved_leaves_nothing(pair, tmp_path):
    model = pair[0]
    effect = dense(model)
    ((name, delta),) = effect.deltas.items()
    with pytest.raises(DeltaError, match="NaN"):
        save(EditEffect({name: delta * torch.nan}), tmp_path / "e", meta_of(model))
    with pytest.raises(DeltaError, match="more than the limit"):
        save(effect, tmp_path / "e", meta_of(model), limit_bytes=delta.numel() * 4 - 1)
    (tmp_path / "file").write_text("")
    with pytest.raises(DeltaError, match="could not be written"):
        save(effect, tmp_path / "file" / "e", meta_of(model))
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    save(effect, tmp_path / "e", meta_of(model), limit_bytes=delta.numel() * 4)
    assert load(tmp_path / "e").effect.deltas


def test_damaged_and_foreign_files_are_refused(pair, tmp_path):
    effect, meta = edited(pair)
    path = tmp_path / "e"
    save(effect, path, meta)
    whole = path.read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text").write_text("no")
    safetensors.torch.save_file({"a": torch.ones(1)}, tmp_path / "foreign")
    for name in ("half", "text", "foreign", "missing"):
        with pytest.raises(DeltaError, match="not a readable"):
            load(tmp_path / name)
    with safetensors.safe_open(path, "pt") as opened:
        about = opened.metadata()
    tensors = safetensors.torch.load_file(path)
    left = next(key for key in tensors if key.startswith("left:"))
    safetensors.torch.save_file(tensors | {left: tensors[left] * 2}, tmp_path / "x", about)
    with pytest.raises(DeltaError, match="was changed"):
        load(tmp_path / "x")
    old = json.loads(about[files.KEY]) | {"format": 99}
    safetensors.torch.save_file(tensors, tmp_path / "x", {files.KEY: json.dumps(old)})
    with pytest.raises(DeltaError, match="format 99"):
        load(tmp_path / "x")


def test_any_bit_that_flips_is_noticed_in_the_header_and_in_every_tensor(pair, tmp_path):
    effect, meta = edited(pair)
    save(effect, tmp_path / "e", meta)
    whole = (tmp_path / "e").read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    drawn = random.Random(5)
    places = [*range(8, header, 7), *(drawn.randrange(8, len(whole)) for _ in range(300))]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << drawn.randrange(8)
        (tmp_path / "x").write_bytes(damaged)
        with pytest.raises(DeltaError, match=r"not a readable file|was changed|has the format"):
            load(tmp_path / "x")


@pytest.mark.parametrize(
    "change",
    [
        lambda about: [1],
        lambda about: about | {"deltas": []},
        lambda about: about | {"n_steps": None},
        lambda about: about | {"n_steps": {"a": float("inf")}},
        lambda about: about | {"templates": 3},
        lambda about: about | {"prompt_change": {"class": "x", "values": 1}},
        lambda about: "[" * 100_000,
    ],
)
def test_a_header_of_another_shape_is_not_a_readable_file(pair, tmp_path, change):
    save(dense(pair[0]), tmp_path / "e", meta_of(pair[0]))
    with safetensors.safe_open(tmp_path / "e", "pt") as opened:
        about = json.loads(opened.metadata()[files.KEY])
    tensors = safetensors.torch.load_file(tmp_path / "e")
    changed = change(about)
    text = changed if isinstance(changed, str) else json.dumps(changed)
    whole = {files.WHOLE: files._whole_digest(text, tensors)}
    safetensors.torch.save_file(tensors, tmp_path / "x", {files.KEY: text} | whole)
    with pytest.raises(DeltaError, match=r"not a readable file|no editing method"):
        load(tmp_path / "x")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_exported_model_reads_back_with_the_edited_weights(pair, tmp_path, dtype):
    model, tokenizer = pair
    model.to(getattr(torch, dtype)).save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    base = load_model(tmp_path / "base", dtype=dtype, device="cpu")
    effects = [dense(base.model), dense(base.model, 1)]
    for i, effect in enumerate(effects):
        save(effect, tmp_path / f"{i}", meta_of(base.model))
    deltas = [load(tmp_path / f"{i}") for i in range(2)]
    digest = export_model(base, deltas, tmp_path / "out")
    assert weights_digest(base.model) == base.info.weights_digest != digest
    back = load_model(tmp_path / "out", dtype=dtype, device="cpu")
    assert back.info.weights_digest == digest
    with apply_in_order(base.model, deltas):
        for (name, mine), (_, theirs) in zip(
            base.model.named_parameters(), back.model.named_parameters(), strict=True
        ):
            assert torch.equal(mine, theirs), name
    assert tokenizer(CORPUS[0])["input_ids"] == back.tokenizer(CORPUS[0])["input_ids"]
    about = json.loads((tmp_path / "out" / ABOUT).read_text())
    assert about["weights_digest"] == digest
    assert [e["digest"] for e in about["edits"]] == [d.digest for d in deltas]
    with pytest.raises(DeltaError, match="not empty"):
        export_model(base, deltas, tmp_path / "out")
    with pytest.raises(DeltaError, match="another model"):
        export_model(back, deltas, tmp_path / "no")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0", "1", "base", "out"]


def test_a_tied_weight_is_exported_tied(tmp_path):
    model, tokenizer = build_tiny("gpt2")
    loaded = wrap(model, tokenizer, name="tiny")
    effect = EditEffect({"lm_head.weight": torch.ones_like(model.lm_head.weight)})
    save(effect, tmp_path / "e", meta_of(model))
    digest = export_model(loaded, [load(tmp_path / "e")], tmp_path / "out")
    back = load_model(tmp_path / "out", device="cpu")
    assert back.info.weights_digest == digest
    assert back.model.lm_head.weight is back.model.transformer.wte.weight
    assert torch.equal(back.model.lm_head.weight, model.lm_head.weight + 1)
