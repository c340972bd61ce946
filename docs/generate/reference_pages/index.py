"""docs/reference/index.md: what the reference has."""

from __future__ import annotations

import thinkeval
from reference_pages import cli, methods
from reference_pages.contracts import folders
from reference_pages.markdown import blocks, table
from thinkeval import cypher
from thinkeval.loaders.formats import formats
from thinkeval.service.base.settings import Settings


def page() -> str:
    """The Markdown: one row a page of the reference, with the number of its entries."""
    rows = (
        ("[Command line](cli.md)", f"{len(cli.commands())} commands with options and exit codes"),
        ("[REST](../how-to/serve-and-rest.md)", "operations and models: `/docs` of a service"),
        ("[Python](python.md)", f"{len(thinkeval.__all__)} public names, and the client"),
        ("[Settings](settings.md)", f"{len(Settings.model_fields)} environment variables"),
        ("[Editing methods](methods.md)", f"{len(methods.names())} methods and hyperparameters"),
        ("[Metrics](metrics.md)", f"{len(cypher.names('metrics/'))} metrics and their Cypher"),
        ("[Queries](queries.md)", f"{sum(map(len, folders().values()))} further queries"),
        ("[Graph schema](graph-schema.md)", "labels, relationships, properties, indexes"),
        ("[File formats](file-formats.md)", f"{len(formats())} formats of data sets, other files"),
        ("[Errors](errors.md)", "problems with status and remedy; exit codes"),
    )
    return blocks(
        "# Reference",
        "Everything that has a name, written from the code: commands, operations, settings,"
        " methods, metrics, queries, files and errors.",
        table(("Page", "What it lists"), rows),
    )
