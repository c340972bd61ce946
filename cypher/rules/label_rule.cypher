// Store an annotator's label of a rule, replacing an earlier one, and update the rule's status.
// At least two labels decide: the rule is kept if all of them are a (must be true) or b (likely to
// be true), else rejected (DepEdit, section 4.1, step 5). One label does not change the status. The
// rule is locked, so of concurrent annotators the last one sees all labels.
// params:
//   $dataset    STRING             the data set the rule belongs to
//   $rule       STRING             its id within the data set
//   $annotator  STRING             name of the annotator
//   $label      STRING(a|b|c|d|e)  plausibility of the rule

MATCH (r:Rule {id: $dataset + '|' + $rule})
SET r.dataset = $dataset  // takes the lock
MERGE (a:Annotator {id: $annotator})
MERGE (a)-[l:LABELLED]->(r)
SET l.label = $label, l.labelled_at = toString(datetime())
WITH DISTINCT r
CALL (r) {
  MATCH (:Annotator)-[each:LABELLED]->(r)
  RETURN count(each) AS n, sum(CASE WHEN each.label IN ['a', 'b'] THEN 1 ELSE 0 END) AS plausible
}
SET r.status = CASE WHEN n < 2 THEN r.status WHEN plausible = n THEN 'kept' ELSE 'rejected' END
RETURN r.rule AS rule, r.status AS status
