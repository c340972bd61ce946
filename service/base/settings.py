"""Settings from environment variables (`THINKEVAL_*`); each has a working default."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from .errors import UsageError

PREFIX = "THINKEVAL_"

ELSEWHERE = frozenset(
    # The client, the embedded server, `db user`, `grow audit`, and data of tests and benchmarks.
    ("URL", "JAVA", "MAVEN_URL", "NEW_PASSWORD", "API_KEY", "DATA")
)
"""Variables that are read elsewhere, without the prefix."""

PUBLISHED = (
    "smollm2,gpt2-xl,openai-community/gpt2-xl,EleutherAI/gpt-j-6b,EleutherAI/gpt-j-6B,"
    "meta-llama/Meta-Llama-3-8B,meta-llama/Meta-Llama-3-8B-Instruct,"
    "Qwen/Qwen2.5-7B,Qwen/Qwen2.5-7B-Instruct"
)
"""SmolLM2 and hub models with shipped hyperparameters: the default of THINKEVAL_MODELS."""


def _listed(separator: str) -> BeforeValidator:
    def split(value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in value.split(separator) if part.strip())

    return BeforeValidator(split)


Names = Annotated[tuple[str, ...], NoDecode, _listed(",")]
"""Several names in one variable, separated by commas."""
Folders = Annotated[tuple[Path, ...], NoDecode, _listed(os.pathsep)]
"""Several folders in one variable, separated as in PATH."""


class Settings(BaseSettings):
    """Environment variables of ThinkEval; `thinkeval doctor` prints the effective values."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore")

    home: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("thinkeval")),
        description="Folder of the embedded database, saved edits and tuned hyperparameters.",
    )
    cache: Path = Field(
        default_factory=lambda: Path(platformdirs.user_cache_dir("thinkeval")),
        description="Cache directory; safe to delete: Neo4j's files, organisms, covariances.",
    )
    neo4j_uri: str | None = Field(
        default=None, description="Use this server instead of the embedded one."
    )
    neo4j_user: str = Field(default="neo4j", description="User of that server.")
    neo4j_password: SecretStr | None = Field(default=None, description="Its password.")
    neo4j_database: str | None = Field(
        default=None,
        min_length=1,
        description="Name of the database on the server; default: the server's own default.",
    )
    browser_url: str | None = Field(
        default=None, description="Address of Neo4j Browser, if it is not served by that server."
    )
    neo4j_heap: str = Field(default="1g", description="Heap of the embedded server.")
    neo4j_release: Literal["5.26", "2026.08"] = Field(
        default="5.26",
        description="Release of the embedded server; 5.26 is the long-term one. A newer release"
        " upgrades the database, and an older one cannot open it then.",
    )
    bolt_port: int | None = Field(default=None, description="Bolt port of the embedded server.")
    http_port: int | None = Field(default=None, description="HTTP port of the embedded server.")
    query_timeout_s: float = Field(
        default=120.0, gt=0, description="Time limit of a query, in seconds."
    )
    delta_limit_mb: int = Field(
        default=600,  # all weights of SmolLM2-135M in float32 are 538 MB
        ge=0,
        description="Largest update of an edit or fine-tune that is saved, in MB; 0: none.",
    )
    checkpoint_s: float = Field(
        default=60.0,
        ge=0,
        description="Seconds between two checkpoints of a covariance; 0: after every batch.",
    )
    device: str = Field(
        default="auto", description="auto, cpu, cuda, cuda:1 ..., all: over all GPUs."
    )
    probe_all_limit: int = Field(
        default=5000,
        ge=1,
        description="Graphs with more facts are probed per rewrite, not completely.",
    )

    host: str = Field(default="127.0.0.1", description="Address the service listens on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port of the service; 0: any.")
    root_path: str = Field(
        default="",
        pattern=r"^(?:/[A-Za-z0-9._~-]+)*$",
        description="Path below which a proxy shows the service, such as /thinkeval.",
    )
    tls_cert: Path | None = Field(
        default=None,
        description="PEM file of the service's certificate, and those that sign it: serves https.",
    )
    tls_key: Path | None = Field(
        default=None, description="PEM file of the certificate's key, without a password."
    )
    workers: int = Field(
        default=1,
        ge=0,
        le=64,
        description="Worker processes of the service; 0: use external workers.",
    )
    engine: Literal["local", "ray"] = Field(
        default="local",
        description="Where workers run: processes of this machine, or actors of a Ray cluster.",
    )
    ray_address: str = Field(
        default="auto", description="Address of the Ray cluster: auto, HOST:PORT, ray://HOST:PORT."
    )
    executor_memory_gb: float = Field(
        default=0.0,
        ge=0,
        description="Memory that each worker takes of its Ray node, in GB; 0: it is not looked at.",
    )
    executor_labels: str = Field(
        default="",
        pattern=r"^$|^[^=,\s]+=[^=,\s]+(,[^=,\s]+=[^=,\s]+)*$",
        description="Labels of the Ray nodes that workers run on: KEY=VALUE,KEY=VALUE.",
    )
    restart_pause_s: float = Field(
        default=30.0,
        ge=0,
        description="Longest pause before a worker that keeps crashing is restarted, in seconds.",
    )
    lease_s: float = Field(
        default=60.0,
        ge=1,
        description="Seconds after which a job is taken from a worker that has not been heard of.",
    )
    stop_grace_s: float = Field(
        default=30.0,
        gt=0,
        description="Seconds a worker may take to stop a cancelled job; then it is killed.",
    )
    edit_limit_s: float | None = Field(
        default=None,
        gt=0,
        description="Seconds a worker may score an edit; then it fails. Default: no limit.",
    )
    job_limit_s: float | None = Field(
        default=None,
        gt=0,
        description="The same for every other job: a comparison, a growth run, a protocol ...",
    )
    api_token: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="Token that clients must send; see `thinkeval serve`.",
    )
    read_token: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="A second token, which permits what changes nothing.",
    )
    allowed_hosts: Names = Field(
        default=(),
        description="Host names the service answers to, in addition to this machine's own.",
    )
    import_dir: Path | None = Field(
        default=None, description="Folder that data sets may be imported from by path."
    )
    models: Names = Field(
        default=tuple(PUBLISHED.split(",")),
        description="Hub models the service may load (* matches any text).",
    )
    model_dirs: Folders = Field(default=(), description="Folders the service may load models from.")
    llm_base_url: str | None = Field(
        default=None, description="Address of a server of the OpenAI protocol, ending in /v1."
    )
    llm_api_key: SecretStr | None = Field(default=None, description="Key of that server.")
    llm_model: str | None = Field(default=None, description="Name of its model.")
    llm_endpoints: Names = Field(
        default=(),
        description="Addresses of further such servers that clients of the service may name.",
    )
    queue_limit: int = Field(
        default=2000, ge=1, description="Maximum number of queued and running edits."
    )
    read_limit_s: int = Field(
        default=600,
        ge=1,
        description="Seconds of a processor that reading a data set or rules may take.",
    )
    read_limit_mb: int = Field(
        default=4096,  # four million short triples
        ge=64,
        description="Memory that reading a data set or rules may take, in megabytes.",
    )
    body_limit_mb: int = Field(default=64, ge=1, description="Largest upload, in megabytes.")

    @field_validator("api_token", "read_token")
    @classmethod
    def _can_be_sent(cls, token: SecretStr | None) -> SecretStr | None:
        """Take blanks off its ends, as for a token that is sent, and refuse one too short then."""
        if token is None:
            return None
        text = token.get_secret_value().strip()
        if len(text) < 16 or not text.isprintable():
            raise ValueError("it needs 16 printable characters besides blanks at its ends")
        return SecretStr(text)

    @field_validator("read_token")
    @classmethod
    def _beside_one_for_all(cls, token: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """Refuse a token for reading where there is none for all."""
        if token is not None and info.data.get("api_token") is None:
            raise ValueError("it requires THINKEVAL_API_TOKEN")
        return token

    @property
    def database_name(self) -> str:
        """The name of the database, for display."""
        default = "neo4j" if self.neo4j_uri is None else "the server's default"
        return self.neo4j_database or default

    @property
    def lease_ms(self) -> int:
        """The length of a lease in milliseconds."""
        return round(1000 * self.lease_s)

    def __init__(self, **values: Any) -> None:
        """Read the environment.

        Raises:
            UsageError: a variable has an invalid value, or a name that is not read.
        """
        _require_known(os.environ)
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = f"{PREFIX}{first['loc'][0]}".upper()
            secret = name.endswith(("_TOKEN", "_PASSWORD", "_KEY"))
            shown = "..." if secret else repr(first["input"])
            raise UsageError(
                f"{name}={shown} is invalid: {first['msg']}.",
                remedy="Correct the variable, or unset it to use the default.",
            ) from error


def _require_known(environment: Mapping[str, str]) -> None:
    """Refuse variables with the prefix that are not read: a misspelt one would be ignored.

    Raises:
        UsageError: there is one; names it, and the nearest that is read.
    """
    known = {PREFIX + name for name in ELSEWHERE}
    known |= {f"{PREFIX}{name}".upper() for name in Settings.model_fields}
    for name in sorted(environment):
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            near = difflib.get_close_matches(name.upper(), known, n=1)
            meant = f"Did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"The environment variable {name} is not read by ThinkEval.",
                remedy=f"{meant}Correct its name or unset it; the reference of settings has all.",
            )
