// Delete an experiment; what it alone has is named, so that the caller can delete it too.
//
// mode: write
// params:
//   $id       STRING         id of the experiment
// returns: one row
//   deleted   INTEGER        experiments that were deleted: 1, or 0 when there was none
//   edits     LIST<STRING>   ids of the edits that no other experiment scored
//   graphs    LIST<STRING>   ids of its graphs that no other experiment has
//   updates   LIST<STRING>   ids of the saved updates that no other experiment has

OPTIONAL MATCH (x:Experiment {id: $id})
OPTIONAL MATCH (x)-[:SCORED]->(e:Edit)
WITH x, [id IN collect(DISTINCT e.id) WHERE NOT EXISTS {
    MATCH (other:Experiment)-[:SCORED]->(:Edit {id: id})
    WHERE other <> x
  }] AS edits
WITH x, edits, [graph IN coalesce(x.graphs, []) WHERE NOT EXISTS {
    MATCH (other:Experiment)
    WHERE other <> x AND graph IN other.graphs
  }] AS graphs, [update IN coalesce(x.updates, []) WHERE NOT EXISTS {
    MATCH (other:Experiment)
    WHERE other <> x AND update IN other.updates
  }] AS updates
DETACH DELETE x
RETURN count(x) AS deleted, edits, graphs, updates
