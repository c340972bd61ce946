// Names of the saved updates that experiments made, such as those of fine-tunes.

MATCH (x:Experiment)
UNWIND coalesce(x.updates, []) AS update
RETURN DISTINCT update
ORDER BY update
