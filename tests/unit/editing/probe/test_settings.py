"""Digests and protocol ids of probe settings."""

from __future__ import annotations

import pytest

from thinkeval.editing.probe import settings
from thinkeval.editing.probe.settings import ProbeSettings, protocol_of


def test_a_change_of_matching_is_none_of_likelihoods(monkeypatch: pytest.MonkeyPatch):
    exact, sampled = ProbeSettings(measures=("likelihood",)), ProbeSettings()
    digests = exact.digest, sampled.digest
    monkeypatch.setitem(settings._PROTOCOLS, "p", 99)
    assert exact.digest == digests[0]
    assert sampled.digest != digests[1]
    assert protocol_of(exact.as_dict(), "likelihood").endswith("likelihood/v2")
    assert protocol_of(sampled.as_dict(), "p").endswith("/v99")
