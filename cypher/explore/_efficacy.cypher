// The probability of the new object after an edit.
// expects:
//   e         NODE        the :Edit
//   r         NODE        its :RewriteRequest
// binds:
//   efficacy  FLOAT|NULL  the probability; null when it was not probed
// params:
//   $measure  STRING(likelihood|p|likelihood_norm) = likelihood  which probabilities are read

CALL (e, r) {
  MATCH (:Entity {key: e.id + '|' + r.subject})-[new:FACT {role: 'target_new'}]->()
  RETURN max(new[$measure + '_post']) AS efficacy
}
