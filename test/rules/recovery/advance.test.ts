/**
 * Advancing takes a decision at its word only as far as the checkpoint bears it out.
 *
 * Held here:
 * - each disposition leads to its phase; a terminal head comes back itself, for its own decision only;
 * - of two faults the earlier rule is the one reported;
 * - a decision about another checkpoint, other effects, other keys or other evidence is refused;
 * - at the last sequence number there is no next checkpoint.
 */
import { describe, expect, it } from 'vitest';
import {
  advanceCheckpoint,
  type RecoveryCheckpoint,
  RecoveryDecision,
  type RecoveryDecisionInput,
} from '../../../src/rules/recovery';
import { actionIdOf, COMMITTED, digest, makeCheckpoint, makeEffect, makeEffects, RECEIPT, refusalOf } from './support';

const [one, two, three] = [makeEffect(0), makeEffect(1), makeEffect(2, COMMITTED)] as const;
const head = makeCheckpoint({ ...RECEIPT, phase: 'dispatching', effects: [one, two, three] });

function decide(fields: Partial<RecoveryDecisionInput> = {}, source = head): RecoveryDecision {
  return RecoveryDecision.create({
    disposition: 'review_required',
    reason: 'ambiguous_effect',
    sourceCheckpointDigest: source.checkpointDigest,
    ...fields,
  });
}
const committed = (...ids: string[]) => ids.map((actionId) => ({ actionId, commitEvidenceDigest: digest('found') }));
const resume = { disposition: 'resume', reason: 'safe_to_resume' } as const;

describe('the next phase', () => {
  it('of resume is dispatching', () => {
    const decision = decide({ ...resume, retryEffectIds: [one.actionId], retryIdempotencyKeys: [one.idempotencyKey] });
    expect(advanceCheckpoint(head, decision)).toMatchObject({ phase: 'dispatching', sequence: 1n, ...RECEIPT });
  });
  it('of complete is completed', () => {
    const decision = decide({
      disposition: 'complete',
      reason: 'effects_reconciled',
      committedEffects: committed(one.actionId, two.actionId),
    });
    const next = advanceCheckpoint(head, decision);
    expect(next.phase).toBe('completed');
    expect(next.effects[0]).toMatchObject({ state: 'committed', commitEvidenceDigest: digest('found') });
    expect(next.effects[2]).toBe(three);
  });
  it('of review is reconciling', () => {
    expect(advanceCheckpoint(head, decide()).phase).toBe('reconciling');
  });
  it('is none after the last sequence number', () => {
    const last = makeCheckpoint({ sequence: 2n ** 63n - 1n, previousCheckpointDigest: digest('before') });
    expect(refusalOf(() => advanceCheckpoint(last, decide({}, last)))).toBe('sequence: invalid_non_negative_integer');
  });
});

describe('a head that has ended', () => {
  const ended = {
    completed: makeCheckpoint({ phase: 'completed', effects: makeEffects(1, COMMITTED) }),
    aborted: makeCheckpoint({ phase: 'aborted' }),
  };
  const own = {
    completed: { disposition: 'complete', reason: 'already_complete' },
    aborted: { disposition: 'review_required', reason: 'workflow_aborted' },
  } as const;
  it.each([
    ['completed', 'completed'],
    ['aborted', 'aborted'],
    ['completed', 'aborted'],
    ['aborted', 'completed'],
  ] as const)('%s, for the decision of %s', (phase, about) => {
    const source = ended[phase];
    const decision = decide(own[about], source);
    if (phase === about) expect(advanceCheckpoint(source, decision)).toBe(source);
    else expect(refusalOf(() => advanceCheckpoint(source, decision))).toBe('decision: terminal_decision_mismatch');
  });
  it('does not take another reason of the same disposition', () => {
    for (const [phase, reason] of [
      ['completed', 'effects_reconciled'],
      ['aborted', 'ambiguous_effect'],
    ] as const) {
      const decision = decide({ ...own[phase], reason }, ended[phase]);
      expect(refusalOf(() => advanceCheckpoint(ended[phase], decision))).toBe('decision: terminal_decision_mismatch');
    }
  });
});

describe('a decision that the checkpoint does not bear out', () => {
  const stranger = actionIdOf('stranger');
  /** In the order of the contract. */
  const FAULTS: readonly (readonly [string, Partial<RecoveryDecisionInput>])[] = [
    ['decision: decision_checkpoint_mismatch', { sourceCheckpointDigest: digest('other') }],
    ['decision: unknown_committed_effect', { committedEffects: committed(stranger) }],
    [
      'decision: unknown_retry_effect',
      { ...resume, retryEffectIds: [stranger], retryIdempotencyKeys: [one.idempotencyKey] },
    ],
    ['decision: invalid_compensation_effect', { compensationEffectIds: [one.actionId] }],
    [
      'decision: retry_key_mismatch',
      { ...resume, retryEffectIds: [one.actionId], retryIdempotencyKeys: [two.idempotencyKey] },
    ],
    ['decision: commit_evidence_changed', { committedEffects: committed(three.actionId) }],
  ];
  it.each(FAULTS)('%s', (text, fields) => {
    expect(refusalOf(() => advanceCheckpoint(head, decide(fields)))).toBe(text);
  });

  it('of any two, the first in the order of the contract is reported', () => {
    let pairs = 0;
    for (const [index, [earlier, fields]] of FAULTS.entries()) {
      for (const [, later] of FAULTS.slice(index + 1)) {
        let decision: RecoveryDecision;
        try {
          decision = decide({ ...later, ...fields });
        } catch {
          continue; // Some pairs cannot stand in one decision.
        }
        pairs += 1;
        expect(refusalOf(() => advanceCheckpoint(head, decision))).toBe(earlier);
      }
    }
    expect(pairs).toBeGreaterThanOrEqual(9);
  });

  it('a retired decision is refused before its source is compared', () => {
    const retired = decide({
      disposition: 'retired',
      reason: 'journal_retired',
      sourceCheckpointDigest: digest('other'),
    });
    expect(refusalOf(() => advanceCheckpoint(head, retired))).toBe('decision: journal_retired');
  });

  it('complete with an effect left over, or without the receipt that its effects need, cannot be built', () => {
    const complete = { disposition: 'complete', reason: 'effects_reconciled' } as const;
    expect(refusalOf(() => advanceCheckpoint(head, decide(complete)))).toBe('effects: incomplete_effects');
    const unapproved = makeCheckpoint({ effects: [makeEffect(0, { approvalRequired: true })] });
    const decision = decide({ ...complete, committedEffects: committed(one.actionId) }, unapproved);
    expect(refusalOf(() => advanceCheckpoint(unapproved, decision))).toBe('approval: missing_approval_receipt');
  });

  it.each([
    ['checkpoint: invalid_checkpoint', { ...head } as RecoveryCheckpoint, decide()],
    ['decision: invalid_decision', head, { ...decide() } as RecoveryDecision],
    ['checkpoint: invalid_checkpoint', null as unknown as RecoveryCheckpoint, null as unknown as RecoveryDecision],
  ])('%s for a value that was not made by its constructor', (text, checkpoint, decision) => {
    expect(refusalOf(() => advanceCheckpoint(checkpoint, decision))).toBe(text);
  });
});
