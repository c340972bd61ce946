"""Edits and sweeps of edits as kinds of experiment; what scores an edit is in `service.scoring`."""
