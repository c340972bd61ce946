"""States of models, their comparisons, lines and audits, for tests."""
