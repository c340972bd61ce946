"""`--hparams`: a file for each method, or a folder; each file is of the method that it fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkeval.editing.errors import HparamsError
from thinkeval.editing.hparams.suggestion import suggest
from thinkeval.service.base.errors import UsageError
from thinkeval.service.scoring.hyperparameters import by_method, source_for


def write(folder: Path, method: str, name: str, *, header: bool = True) -> str:
    """A suggestion as `hparams suggest` writes it, or only its values."""
    text = suggest(method, "llama", 16).as_yaml("mine")
    lines = [line for line in text.splitlines() if header or not line.startswith("#")]
    (folder / name).write_text("\n".join(lines))
    return str(folder / name)


def test_a_file_is_of_the_method_that_its_name_says(tmp_path: Path) -> None:
    rome, memit = write(tmp_path, "rome", "sug_rome.yaml"), write(tmp_path, "memit", "MEMIT-2.yaml")
    assert by_method(["rome", "memit", "none"], [memit, rome]) == {"rome": rome, "memit": memit}
    tuned = write(tmp_path, "fine_tuning", "fine-tuning.yaml", header=False)
    assert by_method(["fine_tuning", "rome"], [tuned]) == {"fine_tuning": tuned}


def test_a_name_that_says_nothing_leaves_it_to_the_first_line_and_the_keys(tmp_path: Path) -> None:
    first = write(tmp_path, "memit", "a.yaml")
    assert by_method(["rome", "memit", "rect"], [first]) == {"memit": first}
    keys = write(tmp_path, "rome", "b.yaml", header=False)
    assert by_method(["rome", "fine_tuning"], [keys]) == {"rome": keys}
    both = write(tmp_path, "rome", "rome_or_memit.yaml")
    assert by_method(["memit", "rome"], [both]) == {"rome": both}


def test_a_published_name_is_for_every_method() -> None:
    assert by_method(["rome", "memit"], ["gpt2-xl"]) == {"rome": "gpt2-xl", "memit": "gpt2-xl"}


def test_a_folder_holds_a_file_for_each_method(tmp_path: Path) -> None:
    rome, _ = write(tmp_path, "rome", "rome.yaml"), write(tmp_path, "memit", "memit.yaml")
    (tmp_path / "README.md").write_text("mine")
    assert by_method(["rome", "kn"], [str(tmp_path)]) == {"rome": rome}
    assert source_for("rome", str(tmp_path)) == rome
    assert source_for("kn", str(tmp_path)) is None
    assert source_for("kn", "gpt2-xl") == "gpt2-xl"
    with pytest.raises(UsageError, match="of none of the methods kn, none"):
        by_method(["kn", "none"], [str(tmp_path)])


def test_a_file_of_another_method_and_a_second_file_are_refused(tmp_path: Path) -> None:
    rome, again = write(tmp_path, "rome", "rome.yaml"), write(tmp_path, "rome", "again.yaml")
    with pytest.raises(UsageError, match=r"rome\.yaml has hyperparameters of none") as error:
        by_method(["memit", "rect"], [rome])
    assert "memit.yaml" in error.value.remedy
    with pytest.raises(UsageError, match=r"two sources for rome: .*rome\.yaml and .*again\.yaml"):
        by_method(["rome", "memit"], [rome, again])
    with pytest.raises(HparamsError, match=r"no\.yaml could not be read"):
        by_method(["rome", "memit"], [str(tmp_path / "no.yaml")])
