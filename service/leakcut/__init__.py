"""Leak cut: the fewest further facts whose change closes every chain; co-edits of them."""
