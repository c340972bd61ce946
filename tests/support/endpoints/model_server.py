"""`transformers serve` as a process: a real server of the OpenAI protocol on a model's folder.

It loads the model at the first answer, and uses no network: nothing is looked up on the hub, and
the folder of the hub's cache does not exist.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

QUESTION_TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'user' %}Question: {{ m['content'] }} Answer:"
    "{% endif %}{% endfor %}"
)
"""Chat template with which a server asks an organism as it was trained to be asked."""

START_S = 120.0
"""Seconds until it answers `/health`, at most: it imports torch, on a busy machine."""


class ModelServer:
    """A running server: base of its protocol's paths, and the name that it serves."""

    def __init__(self, origin: str, model: str, process: subprocess.Popen[bytes]) -> None:
        self.origin, self.model, self.process = origin, model, process
        self.url = f"{origin}/v1"


def with_template(source: Path, folder: Path, template: str = QUESTION_TEMPLATE) -> Path:
    """A copy of a model's folder, whose tokenizer has a chat template."""
    shutil.copytree(source, folder)
    file = folder / "tokenizer_config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(config | {"chat_template": template}), encoding="utf-8")
    return folder


@contextmanager
def serving_model(folder: Path, scratch: Path) -> Iterator[ModelServer]:
    """The server on a model's folder, for the time of a block.

    Args:
        folder: config, weights, tokenizer with a chat template (`with_template`).
        scratch: for its log; its hub cache would be here.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(Path(sys.executable).with_name("transformers")), "serve", str(folder),
        "--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--log-level", "error",
    ]  # fmt: skip
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "HF_HUB_CACHE")} | {
        "HF_HOME": str(scratch / "no-hub"),
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
    }
    log = scratch / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=env, stdout=output, stderr=output)
    try:
        origin = f"http://127.0.0.1:{port}"
        _until_healthy(origin, process, log)
        yield ModelServer(origin, str(folder), process)
    finally:
        process.kill()
        process.wait()


def _until_healthy(origin: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            with urllib.request.urlopen(f"{origin}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            failed = process.poll() is not None or time.monotonic() > deadline
            assert not failed, log.read_text(encoding="utf-8", errors="replace")
            time.sleep(0.1)
