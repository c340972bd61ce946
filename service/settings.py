"""Settings from the environment (`THINKEVAL_*`); every one has a default that works."""

from __future__ import annotations

from pathlib import Path

import platformdirs
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """What a user can set from outside; `thinkeval doctor` prints the values in force."""

    model_config = SettingsConfigDict(env_prefix="THINKEVAL_", extra="ignore")

    home: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("thinkeval")),
        description="Where the embedded database keeps its data.",
    )
    cache: Path = Field(
        default_factory=lambda: Path(platformdirs.user_cache_dir("thinkeval")),
        description="What can be made again: Neo4j's files, organisms, covariances.",
    )
    neo4j_uri: str | None = Field(
        default=None, description="Use this server instead of the embedded one."
    )
    neo4j_user: str = Field(default="neo4j", description="User of that server.")
    neo4j_password: SecretStr | None = Field(default=None, description="Its password.")
    neo4j_heap: str = Field(default="1g", description="Heap of the embedded server.")
    bolt_port: int | None = Field(default=None, description="Bolt port of the embedded server.")
    http_port: int | None = Field(default=None, description="HTTP port of the embedded server.")
    query_timeout_s: float = Field(
        default=120.0, gt=0, description="Longest a query may run, in seconds."
    )
    device: str = Field(default="auto", description="auto, cpu, cuda, cuda:1 ...")
    probe_all_limit: int = Field(
        default=5000,
        ge=1,
        description="Graphs with more facts are probed a rewrite at a time, not whole.",
    )
