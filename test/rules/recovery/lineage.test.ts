/**
 * A lineage is one run, told without a break.
 *
 * Held here:
 * - of the 36 edges between phases exactly 17 are allowed; the first checkpoint may stand in any phase;
 * - of two faults the earlier rule is the one reported;
 * - nothing committed is ever lost or given other evidence, and no approval is changed, on any lineage that validates;
 * - link by link or as a whole, the answer is the same.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type RecoveryCheckpoint,
  RECOVERY_PHASES,
  validateCheckpointLineage,
  validateSuccessor,
  type RecoveryCheckpointInput,
  type RecoveryPhase,
} from '../../../src/rules/recovery';
import {
  anyOpenCheckpoint,
  COMMITTED,
  digest,
  makeCheckpoint,
  makeEffect,
  makeEffects,
  makeSuccessor,
  PLAN,
  RECEIPT,
  refusalOf,
  runIdOf,
} from './support';

const A = 'allowed';
const X = 'lineage: invalid_phase_transition';
const EDGES: Readonly<Record<RecoveryPhase, readonly string[]>> = {
  //                planned  approval_recorded  dispatching  reconciling  completed  aborted
  planned: /*          */ [A, A, A, A, X, A],
  approval_recorded: /**/ [X, A, A, A, X, A],
  dispatching: /*      */ [X, X, A, A, A, A],
  reconciling: /*      */ [X, X, A, A, A, A],
  completed: /*        */ [X, X, X, X, X, X],
  aborted: /*          */ [X, X, X, X, X, X],
};

const done = makeEffects(2, COMMITTED);
const at = (phase: RecoveryPhase): RecoveryCheckpoint => makeCheckpoint({ ...RECEIPT, phase, effects: done });

describe('phases', () => {
  const cases = RECOVERY_PHASES.flatMap((from) =>
    RECOVERY_PHASES.map((to, index) => ({ from, to, answer: EDGES[from][index] as string })),
  );
  it.each(cases)('$from -> $to: $answer', ({ from, to, answer }) => {
    const first = at(from);
    const lineage = [first, makeSuccessor(first, { phase: to })];
    const text = answer === A ? 'no refusal' : answer;
    expect(refusalOf(() => validateCheckpointLineage(lineage))).toBe(text);
    expect(refusalOf(() => validateSuccessor(first, lineage[1] as RecoveryCheckpoint, 1n))).toBe(text);
  });

  it.each(RECOVERY_PHASES)('a lineage may begin %s', (phase) => {
    expect(validateCheckpointLineage([at(phase)])?.phase).toBe(phase);
  });
});

describe('every fault between two checkpoints', () => {
  /** In the order of the contract. */
  const FAULTS: readonly (readonly [string, Partial<RecoveryCheckpointInput>])[] = [
    ['lineage: checkpoint_sequence_gap', { sequence: 2n }],
    ['lineage: lineage_digest_mismatch', { previousCheckpointDigest: digest('other') }],
    ['lineage: workflow_identity_changed', { workflowId: 'workflow:example.org/other' }],
    ['lineage: approval_receipt_changed', { approvalExpiresAt: RECEIPT.approvalExpiresAt + 1n }],
    ['lineage: invalid_phase_transition', { phase: 'approval_recorded' }],
    ['lineage: effect_set_changed', { effects: makeEffects(3) }],
    [
      'lineage: effect_identity_changed',
      { effects: [makeEffect(0, COMMITTED), makeEffect(1, { toolId: 'tool:a.b/c' })] },
    ],
    ['lineage: committed_effect_changed', { effects: makeEffects(2) }],
  ];
  const first = makeCheckpoint({
    ...RECEIPT,
    phase: 'dispatching',
    effects: [makeEffect(0, COMMITTED), makeEffect(1)],
  });

  it.each(FAULTS)('%s', (text, fields) => {
    expect(refusalOf(() => validateSuccessor(first, makeSuccessor(first, fields), 1))).toBe(text);
  });

  it('of any two, the first in the order of the contract is reported', () => {
    for (const [index, [earlier, fields]] of FAULTS.entries()) {
      for (const [, later] of FAULTS.slice(index + 1)) {
        const next = makeSuccessor(first, { ...later, ...fields });
        expect(refusalOf(() => validateSuccessor(first, next, 1))).toBe(earlier);
      }
    }
  });

  it.each([
    ['run', { runId: runIdOf('other'), effects: makeEffects(2, { runId: runIdOf('other') }) }],
    ['plan', { planDigest: digest('other') }],
  ] as const)('another %s is another lineage', (_, fields) => {
    const start = makeCheckpoint();
    expect(refusalOf(() => validateSuccessor(start, makeSuccessor(start, fields), 1))).toBe(
      'lineage: workflow_identity_changed',
    );
  });
});

describe('approval', () => {
  const open = makeCheckpoint();
  it('enters from planned to approval_recorded, and nowhere else', () => {
    expect(
      refusalOf(() => validateSuccessor(open, makeSuccessor(open, { ...RECEIPT, phase: 'approval_recorded' }), 1)),
    ).toBe('no refusal');
    for (const phase of ['planned', 'dispatching', 'reconciling', 'aborted'] as const) {
      expect(refusalOf(() => validateSuccessor(open, makeSuccessor(open, { ...RECEIPT, phase }), 1))).toBe(
        'lineage: approval_added_out_of_phase',
      );
    }
    const reviewed = makeCheckpoint({ phase: 'reconciling' });
    const late = makeSuccessor(reviewed, { ...RECEIPT, phase: 'approval_recorded' });
    expect(refusalOf(() => validateSuccessor(reviewed, late, 1))).toBe('lineage: invalid_phase_transition');
  });

  it.each([
    ['another receipt', { ...RECEIPT, approvalReceiptDigest: digest('other') }],
    ['a longer one', { ...RECEIPT, approvalExpiresAt: RECEIPT.approvalExpiresAt + 1n }],
    ['a shorter one', { ...RECEIPT, approvalExpiresAt: RECEIPT.approvalExpiresAt - 1n }],
    ['none', { approvalActionDigest: null, approvalReceiptDigest: null, approvalExpiresAt: null }],
  ])('is never changed: %s', (_, fields) => {
    const approved = makeCheckpoint({ ...RECEIPT, phase: 'planned' });
    expect(
      refusalOf(() => validateSuccessor(approved, makeSuccessor(approved, { ...fields, phase: 'reconciling' }), 1)),
    ).toBe('lineage: approval_receipt_changed');
    expect(approved.approvalActionDigest).toBe(PLAN);
  });
});

describe('effects', () => {
  const pending = makeEffect(0);
  const committed = makeEffect(0, COMMITTED);
  const other = makeEffect(0, { ...COMMITTED, commitEvidenceDigest: digest('other') });
  it.each([
    ['pending -> pending', pending, pending, 'no refusal'],
    ['pending -> committed', pending, committed, 'no refusal'],
    ['committed -> committed', committed, committed, 'no refusal'],
    ['committed -> pending', committed, pending, 'lineage: committed_effect_changed'],
    ['committed -> other evidence', committed, other, 'lineage: committed_effect_changed'],
  ])('%s', (_, before, after, text) => {
    const first = makeCheckpoint({ effects: [before] });
    expect(refusalOf(() => validateSuccessor(first, makeSuccessor(first, { effects: [after] }), 1))).toBe(text);
  });

  it.each([
    ['approval', { approvalRequired: true }],
    ['compensation', { compensationLimit: 'propose_only' }],
    ['kind', { kind: 'fhir_write' }],
    ['operation', { operationDigest: digest('other') }],
  ] as const)('another %s is another effect', (_, fields) => {
    const first = makeCheckpoint({ effects: [pending] });
    expect(
      refusalOf(() => validateSuccessor(first, makeSuccessor(first, { effects: [makeEffect(0, fields)] }), 1)),
    ).toBe('lineage: effect_identity_changed');
  });
});

describe('any lineage that validates', () => {
  it('keeps what was committed, and the approval; whole or link by link', () => {
    const fields = fc.record({
      phase: fc.constantFrom(...RECOVERY_PHASES),
      commit: fc.array(fc.constantFrom('keep', 'commit', 'forget', 'alter'), { minLength: 5, maxLength: 5 }),
      forget: fc.boolean(),
    });
    let valid = 0;
    fc.assert(
      fc.property(anyOpenCheckpoint, fc.array(fields, { maxLength: 6 }), (start, steps) => {
        const lineage = [start];
        for (const step of steps) {
          const next = tryMake(lineage[lineage.length - 1] as RecoveryCheckpoint, step);
          if (next !== null) lineage.push(next);
        }
        const whole = refusalOf(() => validateCheckpointLineage(lineage));
        const linked = refusalOf(() =>
          lineage.forEach((next, index) => validateSuccessor(lineage[index - 1] ?? null, next, index)),
        );
        expect(linked).toBe(whole);
        if (whole !== 'no refusal') return;
        valid += lineage.length > 1 ? 1 : 0;
        const evidence = new Map<string, string | null>();
        let receipt: string | null = null;
        for (const { effects, approvalReceiptDigest } of lineage) {
          for (const effect of effects) {
            if (evidence.has(effect.actionId)) expect(effect.commitEvidenceDigest).toBe(evidence.get(effect.actionId));
            if (effect.state === 'committed') evidence.set(effect.actionId, effect.commitEvidenceDigest);
          }
          if (receipt !== null) expect(approvalReceiptDigest).toBe(receipt);
          receipt = approvalReceiptDigest;
        }
      }),
      { numRuns: 300 },
    );
    expect(valid).toBeGreaterThan(20);
  });
});

interface Step {
  readonly phase: RecoveryPhase;
  readonly commit: readonly string[];
  readonly forget: boolean;
}

function tryMake(previous: RecoveryCheckpoint, { phase, commit, forget }: Step): RecoveryCheckpoint | null {
  const effects = previous.effects.map((effect, index) => {
    const change = commit[index];
    const input = { ...effect, runId: previous.runId };
    if (change === 'commit' && effect.state === 'pending') return makeEffect(index, { ...input, ...COMMITTED });
    if (change === 'forget') return makeEffect(index, { ...input, state: 'pending', commitEvidenceDigest: null });
    if (change === 'alter' && forget) return makeEffect(index, { ...input, ...COMMITTED });
    return effect;
  });
  try {
    return makeSuccessor(previous, { phase, effects });
  } catch {
    return null;
  }
}

describe('the list itself', () => {
  const first = makeCheckpoint();
  const second = makeSuccessor(first);
  const third = makeSuccessor(second);
  it.each<readonly [string, unknown, boolean, string]>([
    ['is empty', [], false, 'lineage: empty_lineage'],
    ['is empty, as allowed', [], true, 'no refusal'],
    ['is no list', null, true, 'lineage: invalid_lineage'],
    ['is no list either', { length: 1, 0: first }, false, 'lineage: invalid_lineage'],
    ['holds something else', [first, 'second'], false, 'lineage: invalid_checkpoint'],
    ['holds a copy', [{ ...first }], false, 'lineage: invalid_checkpoint'],
    ['holds something else, after a fault', [second, 'third'], false, 'lineage: invalid_checkpoint'],
    ['begins late', [second, third], false, 'lineage: checkpoint_sequence_gap'],
    ['leaves one out', [first, third], false, 'lineage: checkpoint_sequence_gap'],
    ['says one twice', [first, second, second], false, 'lineage: checkpoint_sequence_gap'],
    ['is whole', [first, second, third], false, 'no refusal'],
  ])('%s', (_, lineage, allowEmpty, text) => {
    expect(refusalOf(() => validateCheckpointLineage(lineage as RecoveryCheckpoint[], { allowEmpty }))).toBe(text);
  });
});

it('a link is not taken from a copy, on either side', () => {
  const first = makeCheckpoint();
  const second = makeSuccessor(first);
  for (const [previous, next] of [
    [{ ...first }, second],
    [first, { ...second }],
  ] as const) {
    expect(refusalOf(() => validateSuccessor(previous, next, 1))).toBe('lineage: invalid_checkpoint');
  }
});
