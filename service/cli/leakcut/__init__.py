"""Commands on further facts to edit: the leak cut, co-edits, sweeps of co-edits."""
