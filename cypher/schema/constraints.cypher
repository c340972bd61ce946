// Constraints, indexes and names of a database; may be run again at any time. Neo4j Community has
// no constraints on existence or type: those are checked before writing (cypher/params.py). The
// last statements make every property name known to the server: it warns of others.

CREATE CONSTRAINT graph_id IF NOT EXISTS FOR (g:Graph) REQUIRE g.id IS UNIQUE;
CREATE CONSTRAINT entity_key IF NOT EXISTS FOR (e:Entity) REQUIRE e.key IS UNIQUE;
CREATE CONSTRAINT fact_id IF NOT EXISTS FOR ()-[f:FACT]-() REQUIRE f.id IS UNIQUE;
CREATE CONSTRAINT rewrite_id IF NOT EXISTS FOR (r:RewriteRequest) REQUIRE r.id IS UNIQUE;
CREATE CONSTRAINT edit_id IF NOT EXISTS FOR (e:Edit) REQUIRE e.id IS UNIQUE;
CREATE CONSTRAINT post_id IF NOT EXISTS FOR (p:Post) REQUIRE p.id IS UNIQUE;
CREATE CONSTRAINT queue_id IF NOT EXISTS FOR (q:Queue) REQUIRE q.id IS UNIQUE;
CREATE CONSTRAINT worker_id IF NOT EXISTS FOR (w:Worker) REQUIRE w.id IS UNIQUE;
CREATE CONSTRAINT sweep_id IF NOT EXISTS FOR (s:Sweep) REQUIRE s.id IS UNIQUE;
CREATE CONSTRAINT rule_id IF NOT EXISTS FOR (r:Rule) REQUIRE r.id IS UNIQUE;
CREATE CONSTRAINT annotator_id IF NOT EXISTS FOR (a:Annotator) REQUIRE a.id IS UNIQUE;
CREATE CONSTRAINT implied_id IF NOT EXISTS FOR ()-[i:IMPLIED]-() REQUIRE i.id IS UNIQUE;
CREATE CONSTRAINT grounding_id IF NOT EXISTS FOR (g:Grounding) REQUIRE g.id IS UNIQUE;
CREATE CONSTRAINT knowledge_set_id IF NOT EXISTS FOR (k:KnowledgeSet) REQUIRE k.id IS UNIQUE;
CREATE CONSTRAINT question_id IF NOT EXISTS FOR (q:Question) REQUIRE q.id IS UNIQUE;
CREATE CONSTRAINT protocol_run_id IF NOT EXISTS FOR (r:ProtocolRun) REQUIRE r.id IS UNIQUE;
CREATE CONSTRAINT job_id IF NOT EXISTS FOR (j:Job) REQUIRE j.id IS UNIQUE;
CREATE CONSTRAINT schema_id IF NOT EXISTS FOR (s:Schema) REQUIRE s.id IS UNIQUE;
CREATE CONSTRAINT growth_run_id IF NOT EXISTS FOR (r:GrowthRun) REQUIRE r.id IS UNIQUE;
CREATE CONSTRAINT query_id IF NOT EXISTS FOR (q:Query) REQUIRE q.id IS UNIQUE;
CREATE CONSTRAINT answer_id IF NOT EXISTS FOR (a:Answer) REQUIRE a.id IS UNIQUE;
CREATE CONSTRAINT statement_id IF NOT EXISTS FOR (s:Statement) REQUIRE s.id IS UNIQUE;
CREATE CONSTRAINT candidate_id IF NOT EXISTS FOR (c:Candidate) REQUIRE c.id IS UNIQUE;
CREATE CONSTRAINT decision_id IF NOT EXISTS FOR (d:Decision) REQUIRE d.id IS UNIQUE;
CREATE CONSTRAINT append_answers_id IF NOT EXISTS FOR (x:AppendAnswers) REQUIRE x.id IS UNIQUE;
CREATE CONSTRAINT form_answer_id IF NOT EXISTS FOR (x:FormAnswer) REQUIRE x.id IS UNIQUE;
CREATE CONSTRAINT check_answer_id IF NOT EXISTS FOR (x:CheckAnswer) REQUIRE x.id IS UNIQUE;
CREATE CONSTRAINT iteration_id IF NOT EXISTS FOR (i:Iteration) REQUIRE i.id IS UNIQUE;
CREATE CONSTRAINT experiment_id IF NOT EXISTS FOR (x:Experiment) REQUIRE x.id IS UNIQUE;
CREATE INDEX experiment_kind IF NOT EXISTS FOR (x:Experiment) ON (x.kind);
CREATE INDEX rule_dataset IF NOT EXISTS FOR (r:Rule) ON (r.dataset);
CREATE INDEX fact_relation IF NOT EXISTS FOR ()-[f:FACT]-() ON (f.graph, f.relation);
CREATE TEXT INDEX fact_prompt IF NOT EXISTS FOR ()-[f:FACT]-() ON (f.prompt);
CREATE INDEX implied_relation IF NOT EXISTS FOR ()-[i:IMPLIED]-() ON (i.graph, i.relation);
CREATE INDEX entity_name IF NOT EXISTS FOR (e:Entity) ON (e.name);
CREATE INDEX rewrite_dataset IF NOT EXISTS FOR (r:RewriteRequest) ON (r.dataset);
CREATE INDEX edit_dataset IF NOT EXISTS FOR (e:Edit) ON (e.dataset);
CREATE INDEX edit_status IF NOT EXISTS FOR (e:Edit) ON (e.status);
CREATE INDEX job_ticket IF NOT EXISTS FOR (j:Job) ON (j.status, j.ticket);
CREATE INDEX job_affinity IF NOT EXISTS FOR (j:Job) ON (j.status, j.affinity, j.ticket);
CREATE INDEX job_lease IF NOT EXISTS FOR (j:Job) ON (j.lease);
CREATE INDEX job_lease_until IF NOT EXISTS FOR (j:Job) ON (j.status, j.lease_until);
CREATE INDEX answer_run IF NOT EXISTS FOR (x:Answer) ON (x.run);
CREATE INDEX query_run IF NOT EXISTS FOR (x:Query) ON (x.run);
CREATE INDEX statement_run IF NOT EXISTS FOR (x:Statement) ON (x.run);
CREATE INDEX append_answers_edit IF NOT EXISTS FOR (x:AppendAnswers) ON (x.edit);
CREATE INDEX form_answer_owner IF NOT EXISTS FOR (x:FormAnswer) ON (x.owner);
CREATE INDEX check_answer_owner IF NOT EXISTS FOR (x:CheckAnswer) ON (x.owner);
CREATE INDEX candidate_order IF NOT EXISTS FOR (x:Candidate) ON (x.run, x.place, x.id);
CREATE INDEX candidate_state IF NOT EXISTS FOR (x:Candidate) ON (x.run, x.state);
CREATE INDEX decision_run IF NOT EXISTS FOR (x:Decision) ON (x.run);
CREATE INDEX iteration_run IF NOT EXISTS FOR (x:Iteration) ON (x.run);

UNWIND ['Graph', 'Entity', 'RewriteRequest', 'Edit', 'Post', 'Queue', 'Worker', 'Sweep',
  'Rule', 'Annotator', 'Grounding', 'KnowledgeSet', 'Question', 'ProtocolRun',
  'Job', 'Schema', 'Subject', 'TargetTrue', 'TargetNew', 'GrowthRun', 'Query', 'Answer',
  'Statement', 'Candidate', 'Decision', 'Iteration', 'AppendAnswers',
  'FormAnswer', 'CheckAnswer', 'Experiment'] AS label
CALL db.createLabel(label);

UNWIND ['FACT', 'REWRITES', 'PRODUCED', 'ASKS_FOR', 'IMPLIED', 'LABELLED', 'HAS_QUESTION',
  'USES', 'ANSWERED', 'MADE', 'TO', 'OF', 'FROM', 'VALIDATED_BY', 'ABOUT', 'HAD',
  'SCORED'] AS type
CALL db.createRelationshipType(type);

UNWIND [
  'id', 'kind', 'dataset', 'model', 'edit', 'probe', 'content_digest', 'extends', 'complete',
  'n_facts', 'n_entities', 'measures', 'created_at', 'finished_at',
  'key', 'graph', 'name', 'aliases', 'answer_post',
  'says_pre', 'says_post', 'replaced',
  'relation', 'prompt', 'question', 'questions', 'paraphrases', 'cases', 'role', 'listed',
  'p_pre', 'p_post', 'likelihood_pre', 'likelihood_post',
  'likelihood_norm_pre', 'likelihood_norm_post',
  'answers_pre', 'answers_post', 'n_samples', 'change', 'caption',
  'paraphrases_p_pre', 'paraphrases_p_post',
  'paraphrases_likelihood_pre', 'paraphrases_likelihood_post',
  'paraphrases_likelihood_norm_pre', 'paraphrases_likelihood_norm_post',
  'neighborhood', 'neighborhood_p_pre', 'neighborhood_p_post',
  'neighborhood_likelihood_pre', 'neighborhood_likelihood_post',
  'neighborhood_likelihood_norm_pre', 'neighborhood_likelihood_norm_post',
  'neighborhood_objects', 'generation_prompts', 'reference_texts', 'correct', 'hard', 'random',
  'correct_pre', 'correct_post', 'hard_pre', 'hard_post', 'random_pre', 'random_post', 'new_pre',
  'new_post', 'right_pre', 'right_post',
  'criterion', 'item', 'every', 'answers', 'met', 'old_pre', 'old_post', 'stated_pre',
  'stated_post', 'ratio_pre', 'ratio_post',
  'generations_pre', 'generations_post',
  'rewrite', 'subject', 'target_true', 'target_new', 'n_records',
  'method', 'status', 'progress', 'stage', 'error', 'remedy', 'provenance', 'score',
  'request', 'affinity', 'owner', 'attempts', 'ticket', 'tickets', 'cancel', 'events',
  'body', 'posted_as',
  'device', 'started_at',
  'relation1', 'inverse1', 'relation2', 'inverse2', 'relation3', 'kind_x', 'kind_y', 'kind_z',
  'word_x', 'word_y', 'word_z', 'templates1', 'templates2', 'templates3', 'text', 'shape',
  'support', 'body_count', 'confidence', 'source', 'label', 'labelled_at',
  'rule', 'round', 'premise1', 'premise2', 'conclusion', 'strength_pre', 'strength_post', 'leaves',
  'other_pre', 'other_post',
  'closure', 'setting', 'init', 'seed', 'phase', 'copy', 'expected', 'established',
  'answer',
  'strategy', 'editor', 'hparams', 'seconds',
  'sets', 'total',
  'lease', 'lease_ms', 'lease_until', 'attempt', 'crashes', 'parts', 'worker',
  'queued_ms', 'beat', 'host', 'pid', 'version', 'migrated_at', 'restoring',
  'elicit', 'endpoint', 'prompts', 'capabilities', 'asked', 'state', 'stop_reason',
  'n_decisions',
  'log_lock', 'run', 'messages', 'iteration', 'sample', 'finish', 'tokens_in',
  'tokens_out',
  'object', 'reason', 'tries', 'share', 'n_answers', 'place', 'checks', 'verdict', 'decided_by',
  'corrected', 'judged', 'judge', 'judge_corrected', 'number', 'at', 'by', 'verb', 'candidate',
  'before', 'after', 'evidence', 'triplets', 'paths', 'cot_queries',
  'calls', 'try', 'outcome', 'key_group', 'result', 'updates', 'graphs',
  'constraints', 'kl', 'perplexity_ratio', 'update_norm', 'protocols',
  'form', 'protocol', 'fact', 'known', 'given', 'chance', 'margin_pre', 'margin_post',
  'p_old_pre', 'p_old_post', 'further_pre', 'further_post',
  'text_pre', 'text_post', 'length_pre', 'length_post'
] AS property
CALL db.createProperty(property);

CALL db.awaitIndexes(3600);
