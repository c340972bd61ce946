// Accuracy of an unedited model in each form, over the units whose facts it knows by the cloze and
// whose answer is decided.
// params:
//   $owner  STRING                 id of the model graph
//   $least  PROBABILITY = 0.2      probability from which a unit counts as likely

MATCH (x:FormAnswer {owner: $owner})
WITH x.protocol AS protocol, x.form AS form, count(x) AS asked,
  [u IN collect(x) WHERE u.known] AS known
CALL (known) {
  UNWIND known AS u
  RETURN avg(u.right_pre) AS accuracy, avg(u.chance) AS chance, avg(u.p_pre) AS p,
    avg(u.margin_pre) AS margin, count(u.margin_pre) AS margins,
    avg(u.further_pre) AS further, count(u.further_pre) AS furthers,
    sum(CASE WHEN u.p_pre >= $least THEN 1 ELSE 0 END) AS likely,
    count(u) - count(u.right_pre) AS undecided, avg(u.length_pre) AS length
}
RETURN protocol, form, asked, size(known) AS n, accuracy, chance, p,
  CASE WHEN margins = size(known) THEN margin END AS margin,
  CASE WHEN furthers = size(known) THEN further END AS further, likely,
  undecided, length
ORDER BY form, protocol
