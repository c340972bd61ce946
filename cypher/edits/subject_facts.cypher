// Known facts about an edited subject that are kept, weakened, follow the new object, or are lost.
// The facts of the subject, without those of the edited relation, that the model knew before the
// edit by likelihood. Kept: the probability is at least half of what it was. Weakened: not kept,
// and the edited model's best answer is still the fact's object. Followed: neither, and the best
// answer is the new object, or a chain of at most 2 facts of the data set leads to it from the new
// object, or a rule entails it. Lost: none of these. The best answer is stored on the fact.
// params:
//   $edit      GRAPH_ID      id of the edit
//   $subject   STRING        name of the subject
//   $relation  STRING        the edited relation
//   $known     FLOAT = 0.05  a fact is known if its likelihood before is >= $known and not 0
//   $entailed           LIST<MAP> = []  conclusions of rules about the subject, by the new object
//   $entailed.relation  STRING          relation of the conclusion
//   $entailed.object    STRING          its object

// include: edits/_following
OPTIONAL MATCH (:Entity {key: $edit + '|' + $subject})-[f:FACT]->(o:Entity)
WHERE coalesce(f.role, 'fact') IN ['fact', 'subject'] AND f.relation <> $relation
  AND f.likelihood_pre IS NOT NULL AND f.likelihood_post IS NOT NULL
WITH follows, f, o.name AS object
ORDER BY f.relation, object
WITH follows, collect({fact: f, object: object}) AS pairs
WITH [each IN pairs WHERE each.fact IS NOT NULL | each {
    .fact, .object, known: each.fact.likelihood_pre > 0 AND each.fact.likelihood_pre >= $known,
    outcome: CASE WHEN each.fact.likelihood_post >= 0.5 * each.fact.likelihood_pre THEN 'kept'
      WHEN each.fact.answer_post = each.object THEN 'weakened'
      WHEN coalesce(each.fact.answer_post IN follows, false) OR any(e IN $entailed WHERE
        e.relation = each.fact.relation AND e.object = each.fact.answer_post) THEN 'followed'
      ELSE 'lost' END
  }] AS every
WITH every, [each IN every WHERE each.known] AS known
RETURN CASE WHEN known <> [] THEN size([each IN known WHERE each.outcome = 'kept']) END AS kept,
  CASE WHEN known <> [] THEN size([each IN known WHERE each.outcome = 'weakened']) END AS weakened,
  CASE WHEN known <> [] AND $new IS NOT NULL
    THEN size([each IN known WHERE each.outcome = 'followed']) END AS followed,
  CASE WHEN known <> [] THEN size([each IN known WHERE each.outcome = 'lost']) END AS lost,
  size(known) AS n, size(every) - size(known) AS excluded,
  [each IN known | {
    relation: each.fact.relation, object: each.object, pre: each.fact.likelihood_pre,
    post: each.fact.likelihood_post, outcome: each.outcome, answer: each.fact.answer_post,
    answer_likelihood: each.fact.answer_likelihood
  }] AS facts
