/**
 * The list of codes is closed and true.
 *
 * Held here:
 * - every code of the list is produced by a case below, or is named with the reason why the rules cannot produce it; a
 *   new code does not compile until it has one or the other;
 * - the text is `field: code`, or the code alone, and the parts are data.
 */
import { describe, expect, it } from 'vitest';
import {
  advanceCheckpoint,
  appendOutcome,
  canonicalJson,
  deriveIdempotencyKey,
  EffectObservation,
  EffectRecord,
  JournalRetirementPlan,
  parseActionId,
  parseGovernedId,
  planRetirement,
  readCheckpointFolder,
  RecoveryCheckpoint,
  RecoveryDecision,
  RecoveryError,
  recoverWorkflow,
  RECOVERY_ERROR_CODES,
  requireConfirmedRetirement,
  RetiredJournalRecord,
  validateCheckpointLineage,
  type EffectObservationInput,
  type JsonObject,
  type JsonValue,
  type RecoveryCheckpointInput,
  type RecoveryDecisionInput,
  type RecoveryErrorCode,
  type RetiredJournalRecordInput,
} from '../../../src/rules/recovery';
import { folderOf, type MemoryEntry } from './memory-folder';
import {
  actionIdOf,
  COMMITTED,
  digest,
  makeCheckpoint,
  makeEffect,
  makeEffects,
  makeSuccessor,
  observe,
  RECEIPT,
  refusalOf,
  refusalOfAsync,
  RUN_ID,
  runIdOf,
} from './support';

type Case = readonly [text: string, run: () => unknown];
/** Why the rules never throw a code of the list. */
type Elsewhere = 'the adapter that does the I/O throws it' | 'no valid records lead to it';

// Ways to ask, each with the one thing that is wrong.
const start = makeCheckpoint();
const head = makeCheckpoint({ ...RECEIPT, phase: 'dispatching', effects: [makeEffect(0), makeEffect(1, COMMITTED)] });
const dict = RecoveryCheckpoint.toDict(head);
const effectDict = EffectRecord.toDict(makeEffect(0));
const parse = (fields: JsonObject) => () => RecoveryCheckpoint.fromDict({ ...dict, ...fields });
const parseEffect = (fields: JsonObject) => () => EffectRecord.fromDict({ ...effectDict, ...fields });
const make = (fields: object) => () => makeCheckpoint(fields as Partial<RecoveryCheckpointInput>);
const follow = (first: RecoveryCheckpoint, fields: Partial<RecoveryCheckpointInput>) => () =>
  validateCheckpointLineage([first, makeSuccessor(first, fields)]);
const seen = (fields: object) => () =>
  EffectObservation.create({ ...observe(makeEffect(0), 'absent'), ...fields } as EffectObservationInput);
const review = {
  disposition: 'review_required',
  reason: 'ambiguous_effect',
  sourceCheckpointDigest: head.checkpointDigest,
};
const resume = { ...review, disposition: 'resume', reason: 'safe_to_resume' };
const decide = (fields: object) => () => RecoveryDecision.create({ ...review, ...fields } as RecoveryDecisionInput);
const advance = (fields: object) => () => advanceCheckpoint(head, decide(fields)());
const recover = (observations: unknown) => () =>
  recoverWorkflow([start], observations as EffectObservation[], { now: 0n });
const absent = start.effects.map((effect) => observe(effect, 'absent'));
const found = (actionId: string) => ({ actionId, commitEvidenceDigest: digest('found') });
const name0 = 'checkpoint-00000000000000000000.json';
const read = (entries: Readonly<Record<string, MemoryEntry>>) => () => readCheckpointFolder(folderOf(entries));
const finished = makeCheckpoint({ phase: 'completed', effects: makeEffects(1, COMMITTED) });
const retirement = {
  lineage: [finished],
  terminalMtimeNs: 0n,
  journalBinding: digest('folder'),
  now: 100n,
  policy: { minimumAgeSeconds: 0n },
};
const plan = JournalRetirementPlan.create({
  record: RetiredJournalRecord.create({
    finalCheckpointDigest: finished.checkpointDigest,
    recoveryEvidenceDigest: digest('evidence'),
    checkpointRecoveryEvidenceDigest: null,
    phase: 'completed',
    checkpointCount: 1n,
    effectCount: 1n,
    committedEffectCount: 1n,
  }),
  minimumAgeSeconds: 0n,
  terminalMtimeNs: 0n,
  checkpointDigests: [finished.checkpointDigest],
  plannedAt: 100n,
  journalBinding: digest('folder'),
});
const confirmation = JournalRetirementPlan.confirmationToken(plan);
const retire = (fields: object) => () =>
  requireConfirmedRetirement({ plan, confirmation, now: 100n, current: plan, ...fields });
const record = (fields: object) => () =>
  RetiredJournalRecord.create({ ...plan.record, ...fields } as unknown as RetiredJournalRecordInput);
const recordDict = (fields: JsonObject) => () =>
  RetiredJournalRecord.fromDict({ ...RetiredJournalRecord.toDict(plan.record), ...fields });
const planText = (fields: JsonObject) => () =>
  JournalRetirementPlan.fromJson(canonicalJson({ ...JournalRetirementPlan.toDict(plan), ...fields }));
const without = (fields: JsonObject, field: string): JsonValue =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => name !== field));
const unreadable = new Proxy({}, { ownKeys: () => Reflect.ownKeys(null as unknown as object) });

const CASES: Readonly<Record<RecoveryErrorCode, Case | Elsewhere>> = {
  invalid_json: ['checkpoint: invalid_json', () => RecoveryCheckpoint.fromJson('')],
  not_a_mapping: ['effect: not_a_mapping', () => EffectRecord.fromDict([])],
  unreadable_mapping: ['record: unreadable_mapping', () => RetiredJournalRecord.fromDict(unreadable)],
  unknown_field: ['checkpoint: unknown_field', parse({ note: null })],
  missing_field: ['checkpoint: missing_field', () => RecoveryCheckpoint.fromDict(without(dict, 'phase'))],
  duplicate_field: ['json: duplicate_field', () => RecoveryCheckpoint.fromJson('{"a":1,"a":1}')],
  invalid_payload: ['payload: invalid_payload', () => canonicalJson(1.5)],

  invalid_identifier: ['action_id: invalid_identifier', () => parseActionId('act_')],
  wrong_identifier_kind: ['action_id: wrong_identifier_kind', () => parseActionId(RUN_ID)],
  invalid_identifier_type: ['identifier: invalid_identifier_type', () => parseGovernedId(1)],
  identifier_too_long: ['identifier: identifier_too_long', () => parseGovernedId('x'.repeat(513))],
  unknown_kind: ['kind: unknown_kind', () => parseGovernedId('gadget:a.b/c')],
  wrong_kind: ['kind: wrong_kind', () => parseGovernedId('policy:a.b/c', 'tool')],
  namespace_too_long: ['namespace: namespace_too_long', () => parseGovernedId(`tool:${'a.'.repeat(127)}b/c`)],
  invalid_run_id: ['run_id: invalid_run_id', make({ runId: 1 })],
  invalid_workflow_id: ['workflow_id: invalid_workflow_id', make({ workflowId: null })],
  invalid_action_id: ['action_id: invalid_action_id', seen({ actionId: 1 })],
  invalid_tool_id: ['tool_id: invalid_tool_id', () => makeEffect(0, { toolId: 1 as unknown as string })],
  invalid_digest: ['plan_digest: invalid_digest', parse({ plan_digest: 'x' })],
  invalid_idempotency_key: ['idempotency_key: invalid_idempotency_key', parseEffect({ idempotency_key: 'x' })],
  invalid_boolean: ['approval_required: invalid_boolean', parseEffect({ approval_required: 1n })],
  invalid_non_negative_integer: ['sequence: invalid_non_negative_integer', parse({ sequence: -1n })],
  unknown_phase: ['phase: unknown_phase', make({ phase: 'x' })],
  unknown_effect_kind: [
    'kind: unknown_effect_kind',
    () => deriveIdempotencyKey({ ...makeEffect(0), runId: RUN_ID, kind: 'x' as 'local_tool' }),
  ],
  unknown_effect_state: ['state: unknown_effect_state', () => makeEffect(0, { state: 'x' as 'pending' })],
  unknown_compensation_limit: [
    'compensation_limit: unknown_compensation_limit',
    () => makeEffect(0, { compensationLimit: 'x' as 'none' }),
  ],
  unknown_observation_state: ['state: unknown_observation_state', seen({ state: 'pending' })],
  unknown_disposition: ['disposition: unknown_disposition', decide({ disposition: 'x' })],
  unknown_reason: ['reason: unknown_reason', decide({ reason: 'x' })],

  invalid_effect: ['effect: invalid_effect', parseEffect({ kind: 'x' })],
  invalid_effects: ['effects: invalid_effects', parse({ effects: {} })],
  invalid_effect_order: ['effects: invalid_effect_order', make({ effects: [makeEffect(1)] })],
  duplicate_action_id: [
    'effects: duplicate_action_id',
    make({ effects: [makeEffect(0), makeEffect(1, { actionId: makeEffect(0).actionId })] }),
  ],
  duplicate_idempotency_key: [
    'effects: duplicate_idempotency_key',
    parse({
      effects: [
        EffectRecord.toDict(makeEffect(0)),
        { ...EffectRecord.toDict(makeEffect(1)), idempotency_key: makeEffect(0).idempotencyKey },
      ],
    }),
  ],
  idempotency_key_mismatch: ['effects: idempotency_key_mismatch', parse({ run_id: runIdOf('other') })],
  incomplete_effects: ['effects: incomplete_effects', make({ phase: 'completed' })],
  unexpected_commit_evidence: ['observation: unexpected_commit_evidence', seen({ commitEvidenceDigest: 'x' })],
  missing_commit_evidence: ['observation: missing_commit_evidence', seen({ state: 'committed' })],
  invalid_checkpoint: ['checkpoint: invalid_checkpoint', parse({ run_id: 'x' })],
  unsupported_schema_version: ['schema_version: unsupported_schema_version', parse({ schema_version: 'x' })],
  incomplete_approval_receipt: ['approval: incomplete_approval_receipt', parse({ approval_receipt_digest: null })],
  missing_approval_receipt: ['approval: missing_approval_receipt', make({ phase: 'approval_recorded' })],
  approval_action_mismatch: [
    'approval_action_digest: approval_action_mismatch',
    parse({ approval_action_digest: digest('other') }),
  ],
  unexpected_previous_digest: [
    'checkpoint: unexpected_previous_digest',
    parse({ previous_checkpoint_digest: digest('x') }),
  ],
  missing_previous_digest: ['checkpoint: missing_previous_digest', parse({ sequence: 1n })],
  checkpoint_digest_mismatch: [
    'checkpoint_digest: checkpoint_digest_mismatch',
    parse({ checkpoint_digest: digest('x') }),
  ],

  invalid_lineage: ['lineage: invalid_lineage', () => validateCheckpointLineage(null as unknown as [])],
  empty_lineage: ['lineage: empty_lineage', () => validateCheckpointLineage([])],
  checkpoint_sequence_gap: ['lineage: checkpoint_sequence_gap', follow(start, { sequence: 2n })],
  lineage_digest_mismatch: [
    'lineage: lineage_digest_mismatch',
    follow(start, { previousCheckpointDigest: digest('x') }),
  ],
  workflow_identity_changed: ['lineage: workflow_identity_changed', follow(start, { planDigest: digest('x') })],
  approval_receipt_changed: ['lineage: approval_receipt_changed', follow(head, { approvalExpiresAt: 1n })],
  approval_added_out_of_phase: ['lineage: approval_added_out_of_phase', follow(start, RECEIPT)],
  invalid_phase_transition: ['lineage: invalid_phase_transition', follow(finished, {})],
  effect_set_changed: ['lineage: effect_set_changed', follow(start, { effects: makeEffects(1) })],
  effect_identity_changed: [
    'lineage: effect_identity_changed',
    follow(start, { effects: makeEffects(2, { compensationLimit: 'propose_only' }) }),
  ],
  committed_effect_changed: ['lineage: committed_effect_changed', follow(head, { effects: makeEffects(2) })],
  invalid_effect_transition: 'no valid records lead to it',

  invalid_observations: ['observations: invalid_observations', recover(null)],
  invalid_observation: ['observations: invalid_observation', recover([null])],
  duplicate_observation: ['observations: duplicate_observation', recover([...absent, ...absent])],
  observation_coverage_mismatch: ['observations: observation_coverage_mismatch', recover([])],
  unsupported_evidence_version: ['schema_version: unsupported_evidence_version', decide({ schemaVersion: 'x' })],
  invalid_sequence: ['retry_effect_ids: invalid_sequence', decide({ retryEffectIds: ['x'] })],
  duplicate_item: [
    'compensation_effect_ids: duplicate_item',
    decide({ compensationEffectIds: [actionIdOf('a'), actionIdOf('a')] }),
  ],
  retry_count_mismatch: ['retry_effect_ids: retry_count_mismatch', decide({ retryEffectIds: [actionIdOf('a')] })],
  invalid_committed_effect: ['committed_effects: invalid_committed_effect', decide({ committedEffects: [null] })],
  invalid_resume_decision: ['decision: invalid_resume_decision', decide(resume)],
  invalid_complete_decision: ['decision: invalid_complete_decision', decide({ disposition: 'complete' })],
  invalid_review_decision: ['decision: invalid_review_decision', decide({ reason: 'safe_to_resume' })],
  invalid_retired_decision: ['decision: invalid_retired_decision', decide({ disposition: 'retired' })],
  evidence_digest_mismatch: ['evidence_digest: evidence_digest_mismatch', decide({ evidenceDigest: digest('x') })],
  invalid_decision: ['decision: invalid_decision', () => advanceCheckpoint(head, { ...decide({})() })],
  decision_checkpoint_mismatch: [
    'decision: decision_checkpoint_mismatch',
    advance({ sourceCheckpointDigest: digest('x') }),
  ],
  terminal_decision_mismatch: [
    'decision: terminal_decision_mismatch',
    () => advanceCheckpoint(finished, decide({ sourceCheckpointDigest: finished.checkpointDigest })()),
  ],
  unknown_committed_effect: [
    'decision: unknown_committed_effect',
    advance({ committedEffects: [found(actionIdOf('x'))] }),
  ],
  unknown_retry_effect: [
    'decision: unknown_retry_effect',
    advance({ ...resume, retryEffectIds: [actionIdOf('x')], retryIdempotencyKeys: [makeEffect(0).idempotencyKey] }),
  ],
  invalid_compensation_effect: [
    'decision: invalid_compensation_effect',
    advance({ compensationEffectIds: [makeEffect(0).actionId] }),
  ],
  retry_key_mismatch: [
    'decision: retry_key_mismatch',
    advance({
      ...resume,
      retryEffectIds: [makeEffect(0).actionId],
      retryIdempotencyKeys: [makeEffect(1).idempotencyKey],
    }),
  ],
  commit_evidence_changed: [
    'decision: commit_evidence_changed',
    advance({ committedEffects: [found(makeEffect(1).actionId)] }),
  ],

  journal_retired: ['decision: journal_retired', advance({ disposition: 'retired', reason: 'journal_retired' })],
  journal_unavailable: 'the adapter that does the I/O throws it',
  journal_unreadable: [
    'journal: journal_unreadable',
    () => readCheckpointFolder({ ...folderOf({}), names: () => Promise.reject(new Error('EIO')) }),
  ],
  journal_lock_failed: 'the adapter that does the I/O throws it',
  unsafe_journal: 'the adapter that does the I/O throws it',
  unsafe_journal_lock: 'the adapter that does the I/O throws it',
  unexpected_journal_entry: ['journal: unexpected_journal_entry', read({ notes: {} })],
  unsafe_checkpoint_file: ['journal: unsafe_checkpoint_file', read({ [name0]: { kind: 'symlink' } })],
  checkpoint_too_large: ['journal: checkpoint_too_large', read({ [name0]: { size: 1_048_577 } })],
  checkpoint_read_failed: ['journal: checkpoint_read_failed', read({ [name0]: { unreadable: 'bytes' } })],
  checkpoint_filename_mismatch: [
    'journal: checkpoint_filename_mismatch',
    read({ [name0]: { text: RecoveryCheckpoint.toJson(makeSuccessor(start)) } }),
  ],
  checkpoint_conflict: ['checkpoint: checkpoint_conflict', () => appendOutcome([start], head)],
  checkpoint_write_failed: 'the adapter that does the I/O throws it',
  unsafe_retired_file: ['journal: unsafe_retired_file', read({ 'retired.json': { kind: 'other' } })],
  retired_record_too_large: ['journal: retired_record_too_large', read({ 'retired.json': { size: 1_048_577 } })],
  retired_read_failed: ['journal: retired_read_failed', read({ 'retired.json': { unreadable: 'size' } })],

  unsupported_retired_version: [
    'schema_version: unsupported_retired_version',
    recordDict({ schema_version: 'openmed.agent.retired_journal.v2' }),
  ],
  nonterminal_record: ['record: nonterminal_record', record({ phase: 'planned' })],
  ambiguous_terminal_record: ['record: ambiguous_terminal_record', record({ effectCount: 2n })],
  retired_digest_mismatch: ['record: retired_digest_mismatch', recordDict({ record_digest: digest('x') })],
  invalid_retired_record: ['record: invalid_retired_record', record({ phase: 'done' })],
  invalid_retention_policy: ['policy: invalid_retention_policy', () => planRetirement(retirement)],
  invalid_retirement_plan: ['plan: invalid_retirement_plan', planText({ dry_run: false })],
  invalid_checkpoint_manifest: ['plan: invalid_checkpoint_manifest', planText({ checkpoint_digests: [] })],
  retirement_plan_digest_mismatch: ['plan: retirement_plan_digest_mismatch', planText({ planned_at: 101n })],
  retirement_plan_stale: ['plan: retirement_plan_stale', retire({ current: null })],
  confirmation_required: ['plan: confirmation_required', retire({ confirmation: 'yes' })],
  clock_moved_backwards: ['now: clock_moved_backwards', retire({ now: 99n })],
  retirement_io_failed: 'the adapter that does the I/O throws it',
  invalid_summary: [
    'summary: invalid_summary',
    () => RetiredJournalRecord.verifiesSummary(plan.record, {} as { artifactDigests: string[] }),
  ],
};

describe('every code', () => {
  const produced = Object.entries(CASES).flatMap(([code, entry]) =>
    typeof entry === 'string' ? [] : [{ code, entry }],
  );
  it.each(produced)('$code', async ({ code, entry: [text, run] }) => {
    expect(text.endsWith(`: ${code}`)).toBe(true);
    expect(await refusalOfAsync(async () => run())).toBe(text);
  });

  it('stands in the list once', () => {
    expect([...RECOVERY_ERROR_CODES].sort()).toEqual(Object.keys(CASES).sort());
    expect(new Set(RECOVERY_ERROR_CODES).size).toBe(RECOVERY_ERROR_CODES.length);
  });
});

describe('an error', () => {
  it('is data', () => {
    const error = new RecoveryError('invalid_digest', 'plan_digest');
    expect({ ...error, message: error.message }).toEqual({
      name: 'RecoveryError',
      code: 'invalid_digest',
      fieldName: 'plan_digest',
      message: 'plan_digest: invalid_digest',
    });
    expect(new RecoveryError('invalid_json').message).toBe('invalid_json');
    expect(new RecoveryError('invalid_json').fieldName).toBeNull();
  });

  it('is an Error of its own kind', () => {
    expect(refusalOf(() => parse({ phase: 'x' })())).toBe('checkpoint: invalid_checkpoint');
    expect(() => parse({ phase: 'x' })()).toThrow(RecoveryError);
  });
});
