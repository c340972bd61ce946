"""The list of methods: files found by name, other packages by entry point, torch only on use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from thinkeval.editing import registry
from thinkeval.editing.errors import UnknownMethodError

OUTSIDE = '''"""An outside method that does nothing.

More about it.
"""
from thinkeval.editing.methods.none import HyperParams, execute
NAME = "shrug"
PAPER = "Nobody 2026"
KIND = "weights"
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Installs packages: a module and its metadata in a folder on the path."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(name, source, target):
        (tmp_path / f"{name}.py").write_text(source)
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[thinkeval.methods]\n{target}\n")

    yield install
    for module in [m for m in sys.modules if m.startswith("outside_")]:
        del sys.modules[module]


def test_the_methods_there_are():
    assert {"fine_tuning", "memit", "none", "rome"} <= set(registry.names())
    assert list(registry.names()) == sorted(registry.names())
    for name in registry.names():
        method, about = registry.get(name), registry.info(name)
        assert about.name == method.NAME == name
        assert about.paper == method.PAPER
        assert about.kind == method.KIND
        assert about.kind in ("weights", "prompt", "control")
        assert about.doc.endswith(".")
        assert about.origin == "built in"
        assert method.HyperParams
        assert callable(method.execute)


def test_listing_imports_no_torch():
    code = (
        "import sys; from thinkeval.editing import registry\n"
        "[(registry.info(n), registry.writes_at_subject(n)) for n in registry.names()]; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_methods_that_write_at_the_subject():
    written = {name for name in registry.names() if registry.writes_at_subject(name)}
    assert written == {"rome", "memit", "alphaedit", "rect", "prune"}
    with pytest.raises(UnknownMethodError):
        registry.writes_at_subject("roem")


def test_methods_that_forget(package):
    assert {n for n in registry.names() if registry.forgets(n)} == {"gradient_ascent", "npo", "rmu"}
    for name in registry.names():
        assert getattr(registry.get(name), "FORGETS", False) is registry.forgets(name)
    package("outside_shrug", OUTSIDE + "FORGETS = True\n", "shrug = outside_shrug")
    assert registry.forgets("shrug") is True


def test_an_outside_method_declares_where_it_writes(package):
    package("outside_shrug", OUTSIDE, "shrug = outside_shrug")
    assert registry.writes_at_subject("shrug") is False
    package("outside_keyed", OUTSIDE + "WRITES_AT_SUBJECT = True\n", "keyed = outside_keyed")
    assert registry.writes_at_subject("keyed") is True


@pytest.mark.parametrize(("wrong", "right"), [("roem", "rome"), ("Memit", "memit"), ("ft", None)])
def test_an_unknown_name_is_answered_with_the_nearest(wrong, right):
    expected = f"did you mean '{right}'" if right else f"there are {registry.names()[0]}, "
    for ask in (registry.get, registry.info):
        with pytest.raises(UnknownMethodError, match=expected):
            ask(wrong)


def test_helpers_are_no_methods():
    for name in ("__init__", "_private", "editing"):
        with pytest.raises(UnknownMethodError):
            registry.get(name)


def test_an_installed_package_adds_a_method(package):
    package("outside_shrug", OUTSIDE, "shrug = outside_shrug")
    assert "shrug" in registry.names()
    about = registry.info("shrug")
    assert about == registry.MethodInfo(
        "shrug", "Nobody 2026", "weights", "An outside method that does nothing.", "outside_shrug"
    )
    assert "outside_shrug" not in sys.modules, "a list of methods imported one"
    assert registry.get("shrug").NAME == "shrug"
    assert registry.covariance_layers(registry.get("shrug"), None) == ()


def test_a_built_in_method_is_not_replaced(package):
    package("outside_rome", OUTSIDE, "rome = outside_rome")
    assert registry.info("rome").origin == "built in"
    assert registry.get("rome").__name__ == "thinkeval.editing.methods.rome"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise RuntimeError('no')", "cannot be imported"),
        ("NAME = 'broken'", "has no PAPER, KIND, HyperParams, execute"),
    ],
)
def test_a_broken_package_is_named(package, source, message):
    package("outside_broken", source, "broken = outside_broken")
    with pytest.raises(UnknownMethodError, match=message) as caught:
        registry.get("broken")
    assert "outside_broken" in caught.value.detail
    assert "package" in caught.value.remedy
    assert registry.info("broken").name == "broken"


def test_layers_that_need_a_covariance():
    from thinkeval.editing import hparams

    for name, model, expected in (
        ("rome", "gpt2-xl", (17,)),
        ("rome", "llama3-8b", ()),
        ("memit", "llama3-8b", (4, 5, 6, 7, 8)),
        ("fine_tuning", "gpt2-xl", ()),
    ):
        found = registry.covariance_layers(registry.get(name), hparams.load(name, model))
        assert found == expected


@pytest.mark.parametrize(
    ("declares", "constant"),
    [
        (registry.takes_objective, "TAKES_OBJECTIVE"),
        (registry.trains_app, "TRAINS_APP"),
        (registry.writes_at_subject, "WRITES_AT_SUBJECT"),
        (registry.solves_with_covariance, "SOLVES_WITH_COVARIANCE"),
        (registry.forgets, "FORGETS"),
    ],
)
def test_what_a_method_declares_is_read_as_its_module_says(declares, constant):
    declaring = {name for name in registry.names() if declares(name)}
    assert declaring == {n for n in registry.names() if getattr(registry.get(n), constant, False)}
    assert declaring


def test_methods_that_take_an_objective():
    taking = {name for name in registry.names() if registry.takes_objective(name)}
    assert {"rome", "memit", "fine_tuning"} <= taking
    assert not {"mend", "kn", "none", "ike"} & taking
