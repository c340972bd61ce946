// Names that follow from an edit's new object: itself, and all that chains of at most 2 facts
// reach.

// include: edits/_following
RETURN follows AS names
