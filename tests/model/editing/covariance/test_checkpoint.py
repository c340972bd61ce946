"""A covariance that is killed, or asked for by two processes at once: the same bits, once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.covariance import moments
from thinkeval.editing.covariance.checkpoint import Partial, Progressed
from thinkeval.editing.errors import CovarianceError

TEXTS = [f"{text} {i}" for i in range(30) for text in CORPUS]
OPTIONS = {"batch_tokens": 150, "checkpoint_s": 0.0}

PROCESS = """
import json, sys, time
from thinkeval.editing import covariance
from support.tiny_models import build_tiny
folder, texts, layers, pause, options = json.loads(sys.argv[1])
pair = build_tiny("gpt2", seed=4)
print("ready", flush=True)
sys.stdin.readline()
def tell(*step):
    print(json.dumps(step), flush=True)
    time.sleep(pause)
covariance.get(*pair, texts, layers, folder, progress=tell, **options)
"""


def process(folder: Path, layers=(0, 2), pause=0.0) -> subprocess.Popen[str]:
    arguments = json.dumps([str(folder), TEXTS, layers, pause, OPTIONS])
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def let_go(running: subprocess.Popen[str]) -> None:
    """Once it is ready, let it begin."""
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    assert running.stdin is not None
    running.stdin.write("\n")
    running.stdin.flush()


@pytest.fixture(scope="module")
def pair():
    return build_tiny("gpt2", seed=4)


@pytest.fixture(autouse=True)
def one_thread():
    """As in the processes: another number of threads may add in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def whole(pair, tmp_path):
    """The uninterrupted run."""
    return covariance.get(*pair, TEXTS, [0, 2], tmp_path / "whole", batch_tokens=150)


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix != ".lock"}


def test_killed_and_taken_up_it_gives_the_same_bits(pair, whole, tmp_path):
    folder = tmp_path / "killed"
    running = process(folder, pause=0.05)
    let_go(running)
    assert running.stdout is not None
    for line in running.stdout:
        done, total, _ = json.loads(line)
        if done > total // 3:
            os.kill(running.pid, signal.SIGKILL)
            break
    running.communicate()
    assert running.returncode == -signal.SIGKILL
    assert [name for name in files(folder) if name.endswith(".partial")]
    steps = []
    found = covariance.get(
        *pair, TEXTS, [0, 2], folder, progress=lambda *step: steps.append(step), **OPTIONS
    )
    assert steps[0][0] >= done, "it began anew"
    assert steps[-1][0] == len(TEXTS)
    assert found.source == whole.source
    assert found.n_tokens == whole.n_tokens
    for name in whole:
        assert torch.equal(found[name], whole[name])
    assert files(folder) == files(tmp_path / "whole")


@pytest.mark.parametrize("batches", [1, 3, 6])
def test_stopped_at_any_batch_it_gives_the_same_bits(pair, whole, tmp_path, monkeypatch, batches):
    # Windows of a few texts, so that it is stopped within one, at its end, and in a later one.
    monkeypatch.setattr(moments, "WINDOW", 16)
    options = {**OPTIONS, "dtype": "float64"}
    expected = covariance.get(*pair, TEXTS, [0, 2], tmp_path / "other", **options)
    seen = []

    def stop(*step):
        seen.append(step)
        if len(seen) == batches:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        covariance.get(*pair, TEXTS, [0, 2], tmp_path / "cut", progress=stop, **options)
    steps = []
    found = covariance.get(
        *pair, TEXTS, [0, 2], tmp_path / "cut", progress=lambda *s: steps.append(s), **options
    )
    assert steps[0] == seen[-1]
    for name in expected:
        assert torch.equal(found[name], expected[name])
    assert files(tmp_path / "cut") == files(tmp_path / "other")


def test_sums_of_other_batches_or_too_few_layers_are_not_used(pair, tmp_path):
    def get(layers, batch_tokens):
        steps = []

        def stop(*step):
            steps.append(step)
            if len(steps) == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            covariance.get(
                *pair, TEXTS, layers, tmp_path, batch_tokens=batch_tokens, checkpoint_s=0.0,
                progress=stop,
            )  # fmt: skip
        return steps[0][0]

    first = get([0], 150)
    assert get([0], 150) > first
    assert get([0], 200) < len(TEXTS) // 2
    assert get([0, 2], 200) < len(TEXTS) // 2
    # Sums of more layers than are asked for serve, and are stored for those who want them.
    assert get([2], 200) > first
    found = covariance.get(*pair, TEXTS, [2], tmp_path, batch_tokens=200)
    assert list(found) == [adapter_for(pair[0]).mlp_out(2).name]
    assert len(list(tmp_path.glob("*.safetensors"))) == 2


def test_two_processes_at_once_make_it_once(pair, whole, tmp_path):
    """This one and another."""
    folder, here = tmp_path / "both", []

    def tell(*step):
        here.append(step)
        time.sleep(0.02)

    other = process(folder, pause=0.02)
    let_go(other)
    covariance.get(*pair, TEXTS, [0, 2], folder, progress=tell, **OPTIONS)
    there = [json.loads(line) for line in other.communicate()[0].splitlines()]
    assert other.returncode == 0
    (waited,) = [steps for steps in (here, there) if "waiting" in steps[0][2]]
    (worked,) = [steps for steps in (here, there) if steps is not waited]
    assert len(waited) == 1
    assert worked[-1][0] == len(TEXTS)
    assert files(folder) == files(tmp_path / "whole")


def test_what_a_killed_writer_left_is_cleared_away(pair, whole, tmp_path):
    folder = tmp_path / "left"
    folder.mkdir()
    source = whole.source
    (folder / f".{source.digest}.partial.0a1b2c3d").write_text("half")
    (folder / f"{source.digest}.partial").write_text("damaged")
    covariance.get(*pair, TEXTS, [0, 2], folder, batch_tokens=150)
    assert files(folder) == files(tmp_path / "whole")


def test_sums_are_written_when_it_is_time_and_not_too_often(tmp_path):
    partial = Partial(tmp_path / "p", "key", every_s=0.2)
    state = Progressed({"m": torch.eye(3)}, n_tokens=7, windows=1, batches=2, n_texts=5)
    partial.write(state)
    partial.write(state, last=True)
    assert not (tmp_path / "p").exists(), "a short run writes nothing"
    time.sleep(0.25)
    partial.write(state)
    back = Partial(tmp_path / "p", "key", 1.0).read()
    assert torch.equal(back.sums.pop("m"), state.sums["m"])
    assert vars(back) == vars(state) | {"sums": {}}
    assert Partial(tmp_path / "p", "another key", 1.0).read() == Progressed()
    written = (tmp_path / "p").stat().st_mtime_ns
    partial.write(state)
    assert (tmp_path / "p").stat().st_mtime_ns == written
    partial.write(state, last=True)
    assert (tmp_path / "p").stat().st_mtime_ns > written


def test_a_corpus_without_text_leaves_no_sums(pair, tmp_path):
    with pytest.raises(CovarianceError, match="no text"):
        covariance.get(*pair, [""], [0], tmp_path, checkpoint_s=0.0)
    assert not files(tmp_path)
