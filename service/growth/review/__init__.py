"""Review of a run's candidates: decisions of people and of a judge, and how far they agree."""
