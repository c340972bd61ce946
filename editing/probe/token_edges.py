"""Queries as edges of a tree of tokens: which token is scored after which, each pair once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import ProbeError
from ..models import LoadedModel
from .likelihood import Likelihood, prefix_free, token_sequences
from .prompts import Query, Rendered
from .token_tree import pack


class TokenEdges:
    """The tokens of prompts and names of all queries, and how their likelihoods are combined.

    Attributes:
        tree: every prompt with every name that is scored after it, without its last token.
        ends: [n], ascending: places in the tree whose next token is predicted.
        edge_end: [E], ascending: index into `ends`.
        edge_token: [E], the token that follows there.
    """

    def __init__(self, loaded: LoadedModel, queries: Sequence[Query]) -> None:
        prompts: dict[Rendered, list[int]] = {}
        names = [token_sequences(loaded, query, prompts) for query in queries]
        rows: dict[tuple[Rendered, tuple[int, ...]], int] = {}
        for query, sequences in zip(queries, names, strict=True):
            for sequence in sequences:
                rows.setdefault((query.rendered, sequence), len(rows))
        self._items = [query.item for query in queries]
        self.tree = pack([(*prompts[text], *name[:-1]) for text, name in rows], loaded.device)
        places = [self.tree.places[i][len(prompts[text]) - 1 :] for i, (text, _) in enumerate(rows)]
        pairs = [
            list(zip(at, name, strict=True)) for at, (_, name) in zip(places, rows, strict=True)
        ]
        edges = {edge: i for i, edge in enumerate(sorted({e for row in pairs for e in row}))}
        self.ends, self.edge_end = torch.unique_consecutive(
            torch.tensor([place for place, _ in edges], device=loaded.device), return_inverse=True
        )
        self.edge_token = torch.tensor([token for _, token in edges], device=loaded.device)
        self._lengths = torch.tensor([len(row) for row in pairs], dtype=torch.float64)
        # One index more than there are edges: the log-probability 0 of the padding.
        self._rows = torch.full((len(pairs), max(map(len, pairs))), len(edges))
        for i, row in enumerate(pairs):
            self._rows[i, : len(row)] = torch.tensor([edges[edge] for edge in row])
        self._index(queries, names, rows)

    def _index(
        self,
        queries: Sequence[Query],
        names: Sequence[Sequence[tuple[int, ...]]],
        rows: dict[tuple[Rendered, tuple[int, ...]], int],
    ) -> None:
        """For each query and name: the query, the row, and True if its probability is added."""
        found = [
            (i, rows[query.rendered, sequence], sequence in disjoint)
            for i, (query, sequences) in enumerate(zip(queries, names, strict=True))
            for disjoint in [set(prefix_free(sequences))]
            for sequence in sequences
        ]
        owner, row, added = zip(*found, strict=True)
        self._owner, self._row = torch.tensor(owner), torch.tensor(row)
        self._added = torch.tensor(added, dtype=torch.float64)

    def combine(self, log_p: Tensor) -> list[Likelihood]:
        """The values of all queries from the log-probabilities [E] of all edges.

        Raises:
            ProbeError: one is not finite; names the item.
        """
        wide = torch.cat([log_p.cpu().double(), torch.zeros(1, dtype=torch.float64)])
        total = wide[self._rows].sum(1)
        finite = torch.isfinite(total)[self._row]
        if not finite.all():
            item = self._items[int(self._owner[~finite][0])]
            raise ProbeError(f"the model gives NaN or infinite probabilities for '{item}'")
        n = len(self._items)
        each = total.exp()[self._row] * self._added
        sums = torch.zeros(n, dtype=torch.float64).index_add(0, self._owner, each)
        means = (total / self._lengths).exp()[self._row]
        best = torch.zeros(n, dtype=torch.float64).scatter_reduce(0, self._owner, means, "amax")
        pairs = zip(sums.clamp(max=1).tolist(), best.clamp(max=1).tolist(), strict=True)
        return [Likelihood(one, other) for one, other in pairs]
