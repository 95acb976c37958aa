/**
 * Recovery decides the same for everyone who sees the same, and sends nothing that might already be there.
 *
 * Held here:
 * - the full table of one effect: its recorded state against what the sink was found to hold;
 * - mismatch > ambiguous > approval missing > approval expired > resume > complete, for every pair;
 * - an approval ends exactly at its expiry, and only effects that would be sent again need one;
 * - an effect is retried only if it is pending and observed absent; a committed one never is;
 * - same lineage, same observations in any order, same side of the expiry: same evidence digest;
 * - what a decision leads to keeps everything committed, and names the decision.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  advanceCheckpoint,
  type EffectObservation,
  RecoveryCheckpoint,
  RecoveryDecision,
  type RecoveryError,
  recoverFromHead,
  recoverWorkflow,
  validateSuccessor,
  type EffectRecord,
  type RecoveryReason,
} from '../../../src/rules/recovery';
import {
  anyOpenCheckpoint,
  COMMITTED,
  digest,
  EXPIRY,
  makeCheckpoint,
  makeEffect,
  makeEffects,
  observe,
  RECEIPT,
  refusalOf,
} from './support';

const NOW = { now: 1_000n };
const MAX = 2n ** 63n - 1n;

describe('one effect', () => {
  const pending = makeEffect(0);
  const committed = makeEffect(0, COMMITTED);
  type Row = readonly [string, EffectRecord, EffectObservation, RecoveryReason, string[], string[]];
  const id = [pending.actionId];
  it.each<Row>([
    ['pending, absent', pending, observe(pending, 'absent'), 'safe_to_resume', id, []],
    ['pending, committed', pending, observe(pending, 'committed'), 'effects_reconciled', [], id],
    ['pending, ambiguous', pending, observe(pending, 'ambiguous'), 'ambiguous_effect', [], []],
    ['committed, committed', committed, observe(committed, 'committed'), 'effects_reconciled', [], id],
    ['committed, absent', committed, observe(committed, 'absent'), 'ambiguous_effect', [], []],
    ['committed, ambiguous', committed, observe(committed, 'ambiguous'), 'ambiguous_effect', [], []],
    [
      'committed, other evidence',
      committed,
      observe(committed, 'committed', { evidence: digest('x') }),
      'ambiguous_effect',
      [],
      [],
    ],
    [
      'other operation',
      committed,
      observe(committed, 'committed', { operationDigest: digest('x') }),
      'effect_mismatch',
      [],
      [],
    ],
    [
      'other key',
      pending,
      observe(pending, 'absent', { idempotencyKey: makeEffect(1).idempotencyKey }),
      'effect_mismatch',
      [],
      [],
    ],
    [
      'other operation and ambiguous',
      pending,
      observe(pending, 'ambiguous', { operationDigest: digest('x') }),
      'effect_mismatch',
      [],
      [],
    ],
  ])('%s: %s', (_, effect, observation, reason, retry, found) => {
    const decision = recoverWorkflow([makeCheckpoint({ effects: [effect] })], [observation], NOW);
    expect(decision.reason).toBe(reason);
    expect(decision.retryEffectIds).toEqual(retry);
    expect(decision.committedEffects.map(({ actionId }) => actionId)).toEqual(found);
  });
});

describe('priority', () => {
  /** Each makes one effect of a plan need its reason; in falling priority. */
  const CAUSES: readonly (readonly [RecoveryReason, EffectRecord, EffectObservation])[] = [
    ['effect_mismatch', makeEffect(0), observe(makeEffect(0), 'absent', { operationDigest: digest('x') })],
    ['ambiguous_effect', makeEffect(1), observe(makeEffect(1), 'ambiguous')],
    ['approval_missing', makeEffect(2, { approvalRequired: true }), observe(makeEffect(2), 'absent')],
    ['safe_to_resume', makeEffect(3), observe(makeEffect(3), 'absent')],
    ['effects_reconciled', makeEffect(4), observe(makeEffect(4), 'committed')],
  ];
  const reasonOf = (causes: typeof CAUSES, approved: boolean): RecoveryReason => {
    // Ordinals must be without gaps, so each effect is made again for its place.
    const effects = causes.map(([, effect], index) => makeEffect(index, { ...effect, ordinal: BigInt(index) }));
    const head = makeCheckpoint({ ...(approved ? RECEIPT : {}), effects });
    return recoverWorkflow(
      [head],
      causes.map(([, , observation]) => observation),
      { now: EXPIRY },
    ).reason;
  };

  it('every subset of causes gives the highest of them', () => {
    for (let set = 1; set < 2 ** CAUSES.length; set += 1) {
      const causes = CAUSES.filter((_, index) => (set >> index) & 1);
      expect(reasonOf(causes, false)).toBe(causes[0]?.[0]);
      const expired = causes[0]?.[0] === 'approval_missing' ? 'approval_expired' : causes[0]?.[0];
      expect(reasonOf(causes, true)).toBe(expired);
    }
  });
});

describe('approval', () => {
  const needed = makeEffect(0, { approvalRequired: true });
  const decide = (expiry: bigint | null, now: bigint, state: 'absent' | 'committed' = 'absent'): string => {
    const receipt = expiry === null ? {} : { ...RECEIPT, approvalExpiresAt: expiry };
    return recoverWorkflow([makeCheckpoint({ ...receipt, effects: [needed] })], [observe(needed, state)], { now })
      .reason;
  };
  it.each([
    [1n, 0n, 'safe_to_resume'],
    [1n, 1n, 'approval_expired'],
    [1n, 2n, 'approval_expired'],
    [0n, 0n, 'approval_expired'],
    [MAX, MAX - 1n, 'safe_to_resume'],
    [MAX, MAX, 'approval_expired'],
    [null, 0n, 'approval_missing'],
  ])('until %s, asked at %s: %s', (expiry, now, reason) => {
    expect(decide(expiry, now)).toBe(reason);
    expect(decide(expiry, now, 'committed')).toBe('effects_reconciled');
  });

  it('the boundary is exact wherever it lies', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: MAX - 1n }), (expiry) => {
        const answers = [expiry - 1n, expiry, expiry + 1n].map((now) => decide(expiry, now));
        expect(answers).toEqual(['safe_to_resume', 'approval_expired', 'approval_expired']);
      }),
    );
  });

  it.each([-1n, MAX + 1n, 5, '5', null, undefined, true])(
    'a time of %s is refused before anything is looked at',
    (now) => {
      expect(refusalOf(() => recoverWorkflow([], [], { now: now as bigint }))).toBe(
        'now: invalid_non_negative_integer',
      );
    },
  );
});

describe('observations', () => {
  const effects = makeEffects(2);
  const [first, second] = effects.map((effect) => observe(effect, 'absent')) as [EffectObservation, EffectObservation];
  const stranger = observe(makeEffect(7), 'absent');
  it.each<readonly [string, unknown, string]>([
    ['all there, in another order', [second, first], 'no refusal'],
    ['one missing', [first], 'observations: observation_coverage_mismatch'],
    ['one too many', [first, second, stranger], 'observations: observation_coverage_mismatch'],
    ['one of another effect', [first, stranger], 'observations: observation_coverage_mismatch'],
    ['the same twice', [first, second, second], 'observations: duplicate_observation'],
    ['one twice instead of another', [first, first], 'observations: duplicate_observation'],
    ['no list', null, 'observations: invalid_observations'],
    ['something else inside', [first, 'absent'], 'observations: invalid_observation'],
    ['a copy', [first, { ...second }], 'observations: invalid_observation'],
  ])('%s', (_, observations, text) => {
    const lineage = [makeCheckpoint({ effects })];
    expect(refusalOf(() => recoverWorkflow(lineage, observations as EffectObservation[], NOW))).toBe(text);
  });

  it('are not looked at when the run has ended', () => {
    const completed = makeCheckpoint({ phase: 'completed', effects: makeEffects(1, COMMITTED) });
    const aborted = makeCheckpoint({ phase: 'aborted' });
    const junk = null as unknown as EffectObservation[];
    expect(recoverWorkflow([completed], junk, NOW)).toMatchObject({
      disposition: 'complete',
      reason: 'already_complete',
    });
    expect(recoverWorkflow([aborted], junk, NOW)).toMatchObject({ reason: 'workflow_aborted', committedEffects: [] });
  });
});

/** A head and one observation for each of its effects. */
const anySituation = anyOpenCheckpoint.chain((head) =>
  fc
    .array(fc.constantFrom('absent' as const, 'committed' as const, 'ambiguous' as const, 'changed' as const), {
      minLength: head.effects.length,
      maxLength: head.effects.length,
    })
    .map((states) => ({
      head,
      observations: head.effects.map((effect, index) => {
        const state = states[index] as 'absent' | 'committed' | 'ambiguous' | 'changed';
        return state === 'changed'
          ? observe(effect, 'absent', { operationDigest: digest('changed') })
          : observe(effect, state);
      }),
    })),
);

describe('any situation', () => {
  const anyNow = fc.bigInt({ min: 0n, max: MAX });

  it('is decided alike by everyone, whatever the order of observations', () => {
    fc.assert(
      fc.property(anySituation, anyNow, ({ head, observations }, now) => {
        const decision = recoverWorkflow([head], observations, { now });
        const copy = RecoveryCheckpoint.fromJson(RecoveryCheckpoint.toJson(head));
        const again = recoverFromHead(copy, [...observations].reverse(), { now });
        expect(RecoveryDecision.toJson(again)).toBe(RecoveryDecision.toJson(decision));
      }),
    );
  });

  it('retries only what is pending and absent, with its own key, and never beside doubt', () => {
    fc.assert(
      fc.property(anySituation, anyNow, ({ head, observations }, now) => {
        const decision = recoverWorkflow([head], observations, { now });
        const absent = head.effects.filter((effect, index) => {
          const seen = observations[index] as EffectObservation;
          return (
            effect.state === 'pending' && seen.state === 'absent' && seen.operationDigest === effect.operationDigest
          );
        });
        const expected = decision.disposition === 'resume' ? absent : [];
        expect(decision.retryEffectIds).toEqual(expected.map(({ actionId }) => actionId));
        expect(decision.retryIdempotencyKeys).toEqual(expected.map(({ idempotencyKey }) => idempotencyKey));
        if (decision.disposition !== 'review_required') {
          expect(observations.every(({ state }) => state !== 'ambiguous')).toBe(true);
        }
      }),
    );
  });

  it('proposes compensation only for review, and only of what is committed and may be compensated', () => {
    fc.assert(
      fc.property(anySituation, anyNow, ({ head, observations }, now) => {
        const decision = recoverWorkflow([head], observations, { now });
        const limits = new Map(head.effects.map((effect) => [effect.actionId, effect.compensationLimit]));
        const found = decision.committedEffects.map(({ actionId }) => actionId);
        const expected = found.filter((actionId) => limits.get(actionId) === 'propose_only');
        expect(decision.compensationEffectIds).toEqual(decision.disposition === 'review_required' ? expected : []);
      }),
    );
  });

  it('leads to a checkpoint that keeps everything committed and follows the one before', () => {
    fc.assert(
      fc.property(anySituation, anyNow, ({ head, observations }, now) => {
        const decision = recoverWorkflow([head], observations, { now });
        let next: RecoveryCheckpoint;
        try {
          next = advanceCheckpoint(head, decision);
        } catch (fault) {
          // Only what a receipt would have allowed cannot be built.
          expect((fault as RecoveryError).message).toBe('approval: missing_approval_receipt');
          return;
        }
        expect(advanceCheckpoint(head, decision).checkpointDigest).toBe(next.checkpointDigest);
        expect(next.recoveryEvidenceDigest).toBe(decision.evidenceDigest);
        for (const [index, effect] of head.effects.entries()) {
          if (effect.state === 'committed') expect(next.effects[index]).toBe(effect);
        }
        const newly = next.effects.filter((effect, index) => effect.state !== head.effects[index]?.state);
        const named = new Map(
          decision.committedEffects.map((effect) => [effect.actionId, effect.commitEvidenceDigest]),
        );
        for (const effect of newly) expect(named.get(effect.actionId)).toBe(effect.commitEvidenceDigest);
        const answer = refusalOf(() => validateSuccessor(head, next, 1));
        const trap = decision.disposition === 'complete' && ['planned', 'approval_recorded'].includes(head.phase);
        expect(answer).toBe(trap ? 'lineage: invalid_phase_transition' : 'no refusal');
      }),
    );
  });
});
