"""Review of a run's candidates: decisions of people and of a judge, their log and agreement."""
