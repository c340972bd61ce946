// How a job stands, with its stages so far.
//
// mode: read
// params:
//   $id           STRING         id of the job
// returns: one row, none when there is no such job
//   id            STRING         its id
//   status        STRING         queued, running, succeeded, failed or cancelled
//   progress      FLOAT          from 0 to 1
//   stage         STRING|NULL    what it is doing, in words
//   total         INTEGER        runs it asks for
//   runs          LIST<STRING>   ids of the runs that are done
//   sets          LIST<STRING>   ids of its knowledge sets
//   strategies    LIST<STRING>   what is run on each
//   model         STRING         the model's short name
//   graph         STRING|NULL    whose model is used; null for each set's own data set
//   error         STRING|NULL    why it failed
//   remedy        STRING|NULL    what to do about it
//   attempts      INTEGER        how often a worker took it up
//   created_at    STRING         ISO 8601
//   finished_at   STRING|NULL    ISO 8601
//   events        LIST<STRING>   JSON: its stages so far

MATCH (j:ProtocolJob {id: $id})
RETURN j.id AS id, j.status AS status, j.progress AS progress, j.stage AS stage,
  j.total AS total, j.runs AS runs, j.sets AS sets, j.strategies AS strategies,
  j.model AS model, j.graph AS graph, j.error AS error, j.remedy AS remedy,
  j.attempts AS attempts, j.created_at AS created_at, j.finished_at AS finished_at,
  j.events AS events
