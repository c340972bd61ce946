// Delete an experiment; what it alone has is named, so that the caller can delete it too.
// params:
//   $id  STRING  id of the experiment

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
