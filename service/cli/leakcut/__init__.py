"""Commands on what else to edit: the leak cut, co-edits, sweeps of co-edits."""
