// Known facts about an edited subject that are kept, weakened, replaced or lost.
// The facts of the subject, without the edited one, that the model knew before the edit by
// likelihood. Of those that are replaced, some follow: the name that the model's own answer
// gives is the new object, or a chain of at most 2 facts of the data set leads to it from there, or
// a rule entails it.
// params:
//   $edit      GRAPH_ID      id of the edit
//   $subject   STRING        name of the subject
//   $known     FLOAT = 0.05  a fact is known if its likelihood before is >= $known and not 0
//   $entailed           LIST<MAP> = []  conclusions of rules about the subject, by the new object
//   $entailed.relation  STRING          relation of the conclusion
//   $entailed.object    STRING          its object

// include: edits/_following
OPTIONAL MATCH (:Entity {key: $edit + '|' + $subject})-[f:FACT]->(o:Entity)
WHERE coalesce(f.role, 'fact') IN ['fact', 'subject']
  AND f.likelihood_pre IS NOT NULL AND f.likelihood_post IS NOT NULL
WITH follows, f, o.name AS object, f.likelihood_pre AS pre, f.likelihood_post AS post,
  f.replaced AS replaced
// include: states/_state
WITH follows, f, object, pre, post, state, pre > 0 AND pre >= $known AS known
ORDER BY f.relation, object
WITH count(f) AS every, collect(CASE WHEN known THEN {
    relation: f.relation, object: object, pre: pre, post: post, change: state,
    says_pre: f.says_pre, says_post: f.says_post,
    follows: state = 'replaced' AND coalesce(f.answer_post IN follows OR any(e IN $entailed WHERE
      e.relation = f.relation AND e.object = f.answer_post), false)
  } END) AS facts
RETURN CASE WHEN facts <> [] THEN size([row IN facts WHERE row.change = 'kept']) END AS kept,
  CASE WHEN facts <> [] THEN size([row IN facts WHERE row.change = 'weakened']) END AS weakened,
  CASE WHEN facts <> [] THEN size([row IN facts WHERE row.change = 'replaced']) END AS replaced,
  CASE WHEN facts <> [] AND $new IS NOT NULL
    THEN size([row IN facts WHERE row.follows]) END AS followed,
  CASE WHEN facts <> [] THEN size([row IN facts WHERE row.change = 'lost']) END AS lost,
  size(facts) AS n, every - size(facts) AS excluded, facts
