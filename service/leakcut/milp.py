"""A mixed-integer program over variables between 0 and 1, solved by SciPy (HiGHS)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import UsageError

TIGHT = 1e-6
"""Values that differ by less are equal; the solver's own tolerance is of this size."""


@dataclass(frozen=True)
class Solved:
    """A solution.

    Attributes:
        values: of the variables.
        bound: no solution costs less.
        complete: True if it is proved optimal; else the time ended.
    """

    values: np.ndarray
    bound: float
    complete: bool


@dataclass
class Program:
    """Constraints lower ≤ Σ coefficient · variable ≤ upper, as sparse rows.

    Attributes:
        rows: {variable: coefficient} of each constraint.
        integral: True if a variable is 0 or 1; None: all are. Others may take any value between.
    """

    rows: list[Mapping[int, float]] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integral: Sequence[bool] | None = None

    def at_least(self, row: Mapping[int, float], bound: float) -> None:
        """Add a lower bound."""
        self._add(row, bound, np.inf)

    def at_most(self, row: Mapping[int, float], bound: float) -> None:
        """Add an upper bound."""
        self._add(row, -np.inf, bound)

    def solve(self, costs: np.ndarray, limit_s: float) -> Solved | None:
        """The cheapest values; None where none keep to the constraints.

        Raises:
            UsageError: the time was too short to find any.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import
        from scipy.sparse import csr_array

        places = [place for row in self.rows for place in row]
        numbers = [number for row in self.rows for number in row.values()]
        starts = np.cumsum([0, *(len(row) for row in self.rows)])
        matrix = csr_array((numbers, places, starts), shape=(len(self.rows), len(costs)))
        constraint: Any = LinearConstraint  # SciPy's stubs take no array as a bound
        result: Any = milp(
            costs,
            constraints=constraint(matrix, np.array(self.lower), np.array(self.upper)),
            bounds=Bounds(0, 1),
            integrality=np.ones(len(costs)) if self.integral is None else np.array(self.integral),
            options={"time_limit": limit_s, "mip_rel_gap": 0.0},
        )
        if result.x is not None:
            # Without a variable that is 0 or 1 it is a linear program, which has no other bound.
            bound = result.fun if result.mip_dual_bound is None else result.mip_dual_bound
            return Solved(result.x, float(bound), result.status == 0)
        if result.status == 2:  # infeasible
            return None
        raise UsageError(
            f"No cut was found in {limit_s:g} s ({result.message}).",
            remedy="Give more time, or shorter chains.",
        )

    def _add(self, row: Mapping[int, float], lower: float, upper: float) -> None:
        self.rows.append(row)
        self.lower.append(lower)
        self.upper.append(upper)
