/**
 * Plans, drafts, envelopes and identities.
 *
 * Held here:
 * - a plan reads back as it was, its digest covers every part of it, and a fault is named by the path of its field;
 * - the biggest plan that fits is accepted, one effect more is refused, and the all-committed form is never bigger than said;
 * - the same operation in the same run has one digest in any order of keys, and another one in any other run;
 * - an id stands for the same run and action for ever; different ids never share one.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openOperation, operationEnvelope, resultEnvelope } from '../../../src/rules/plans/envelope';
import { draftFromJson, planFromDraft } from '../../../src/rules/plans/draft';
import { carrierWorkflowId, deriveActionId, deriveRunId, driverDigest } from '../../../src/rules/plans/identity';
import {
  createPlan,
  largestCheckpointBytes,
  openingCheckpoint,
  planFromRecord,
  planToRecord,
  type GovernedPlan,
} from '../../../src/rules/plans/plan';
import {
  COMPENSATION_LIMITS,
  EFFECT_KINDS,
  MAX_CHECKPOINT_BYTES,
  RecoveryCheckpoint,
  commitEffect,
  sha256Digest,
  sha256Hex,
} from '../../../src/rules/recovery';
import { Refusal } from '../../../src/rules/refusal';

const effect = {
  id: 'e1',
  tool_id: 'tool:example.org/a@1.0.0',
  kind: 'local_tool',
  operation: { b: 1, a: [0.5, null] },
  approval_required: false,
  compensation_limit: 'none',
};
const draft = { workflow_id: 'workflow:example.org/w', name: 'n', order: 'ordered', effects: [effect] };
const salt = 'ab'.repeat(32);

function planOf(effects: number): Omit<GovernedPlan, 'planDigest'> {
  const runId = deriveRunId('workflow:example.org/w', 'big');
  return {
    workflowId: 'workflow:example.org/w',
    runId,
    order: 'ordered',
    origin: null,
    requester: null,
    effects: Array.from({ length: effects }, (_none, index) => ({
      actionId: `act_${sha256Hex(String(index)).slice(0, 32)}`,
      toolId: 'tool:example.org/a@1.0.0',
      kind: 'local_tool',
      operationDigest: sha256Digest(String(index)),
      approvalRequired: false,
      compensationLimit: 'none',
    })),
  };
}

function refusal(act: () => unknown): Refusal {
  try {
    act();
  } catch (fault) {
    if (fault instanceof Refusal) return fault;
    throw fault;
  }
  throw new Error('was accepted');
}

describe('a plan', () => {
  const { plan } = planFromDraft(draftFromJson({ ...draft, effects: [effect, { ...effect, id: 'e2' }] }), salt);
  const record = planToRecord(plan);

  it('reads back as it was', () => {
    expect(planFromRecord(JSON.parse(JSON.stringify(record)))).toEqual(plan);
  });

  it.each(Object.keys(record))(
    'is refused by the path of %s when that is missing, of another form, or altered',
    (field) => {
      const { [field]: _gone, ...without } = record;
      expect(refusal(() => planFromRecord(without))).toMatchObject({ code: 'invalid_plan', field });
      expect(refusal(() => planFromRecord({ ...without, [field]: 7 }))).toMatchObject({ code: 'invalid_plan', field });
    },
  );

  it('has a digest that covers every part', () => {
    const { planDigest: _digest, ...fields } = plan;
    const [first, second] = plan.effects as [GovernedPlan['effects'][0], GovernedPlan['effects'][0]];
    const others: Omit<GovernedPlan, 'planDigest'>[] = [
      { ...fields, workflowId: 'workflow:example.org/x' },
      { ...fields, runId: deriveRunId('workflow:example.org/w', 'm') },
      { ...fields, order: 'independent' },
      { ...fields, origin: sha256Digest('o') },
      { ...fields, requester: sha256Digest('o') },
      { ...fields, effects: [second, first] },
      { ...fields, effects: [first] },
      { ...fields, effects: [{ ...first, approvalRequired: true }, second] },
      { ...fields, effects: [{ ...first, compensationLimit: 'propose_only' }, second] },
      { ...fields, effects: [{ ...first, operationDigest: sha256Digest('x') }, second] },
    ];
    expect(new Set([plan.planDigest, ...others.map((other) => createPlan(other).planDigest)]).size).toBe(11);
  });

  it('names no action twice', () => {
    const { effects } = plan;
    expect(refusal(() => createPlan({ ...plan, effects: [...effects, effects[0]!] })).code).toBe('invalid_plan');
  });

  it('knows the size of its largest checkpoint to the byte', () => {
    const digest = sha256Digest('any');
    const largestOf = (made: GovernedPlan): string => {
      const opening = openingCheckpoint(made);
      const text = RecoveryCheckpoint.toJson(
        RecoveryCheckpoint.create({
          ...opening,
          sequence: 2n ** 63n - 1n,
          phase: 'reconciling',
          approvalActionDigest: made.planDigest,
          approvalReceiptDigest: digest,
          approvalExpiresAt: 2n ** 63n - 1n,
          previousCheckpointDigest: digest,
          recoveryEvidenceDigest: digest,
          effects: opening.effects.map((record) => commitEffect(record, digest)),
        }),
      );
      // A later lineage carries committed effects through this phase too, and its name is the longest.
      return text.replace('"reconciling"', '"approval_recorded"');
    };
    const kinds = fc.constantFrom(...EFFECT_KINDS);
    const limits = fc.constantFrom(...COMPENSATION_LIMITS);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(kinds, limits, fc.boolean(), fc.nat(40)), { minLength: 1, maxLength: 120 }),
        (all) => {
          const effects = all.map(([kind, compensationLimit, approvalRequired, length], ordinal) => ({
            ...(planOf(1).effects[0] as GovernedPlan['effects'][number]),
            actionId: `act_${String(ordinal).padStart(32, '0')}`,
            toolId: `tool:example.org/${'t'.repeat(length + 1)}@1.0.0`,
            kind,
            compensationLimit,
            approvalRequired,
          }));
          const made = createPlan({
            ...planOf(1),
            workflowId: `workflow:example.org/${'w'.repeat(all.length)}`,
            effects,
          });
          expect(largestCheckpointBytes(made)).toBe(largestOf(made).length);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('is accepted up to the very last effect that fits, and refused with one more', () => {
    const one = largestCheckpointBytes(createPlan(planOf(1)));
    const each = largestCheckpointBytes(createPlan(planOf(2))) - one;
    let most = Math.floor((MAX_CHECKPOINT_BYTES - one) / each);
    const bytes = (effects: number): number => largestCheckpointBytes(planOf(effects));
    while (bytes(most) <= MAX_CHECKPOINT_BYTES) most += 1;
    while (bytes(most) > MAX_CHECKPOINT_BYTES) most -= 1;
    expect(most).toBeGreaterThan(1_000);
    expect(createPlan(planOf(most)).effects).toHaveLength(most);
    expect(refusal(() => createPlan(planOf(most + 1)))).toMatchObject({ code: 'plan_too_large', field: 'effects' });
  });
});

describe('a draft', () => {
  it.each<[string, unknown, string]>([
    ['no name and no run', { ...draft, name: undefined }, 'name'],
    ['a name and a run', { ...draft, run_id: `run_${'0'.repeat(32)}` }, 'name'],
    ['no effects', { ...draft, effects: [] }, 'effects'],
    ['an unknown field', { ...draft, note: 'x' }, 'note'],
    ['an unknown field of an effect', { ...draft, effects: [{ ...effect, note: 'x' }] }, 'effects[0].note'],
    ['an id used twice', { ...draft, effects: [effect, effect] }, 'effects[1].id'],
    ['an id with a line break', { ...draft, effects: [{ ...effect, id: 'a\nb' }] }, 'effects[0].id'],
    [
      'a tool that is no tool',
      { ...draft, effects: [{ ...effect, tool_id: 'workflow:example.org/a' }] },
      'effects[0].tool_id',
    ],
    ['an unknown kind', { ...draft, effects: [{ ...effect, kind: 'mail' }] }, 'effects[0].kind'],
    ['an unknown order', { ...draft, order: 'random' }, 'order'],
  ])('with %s is refused by the path of its field', (_what, value, field) => {
    const { name, ...rest } = value as Record<string, unknown>;
    const given = name === undefined ? rest : { name, ...rest };
    expect(refusal(() => draftFromJson(given))).toMatchObject({ code: 'invalid_plan', field });
  });
});

describe('an envelope', () => {
  const digestOf = (run: string, operation: unknown): string =>
    operationEnvelope(run, 'act_1', 'tool', operation).digest;

  it('has one digest in one run, whatever the order of keys, and another one elsewhere', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (operation) => {
        const turned = Object.fromEntries(Object.entries(operation).reverse());
        expect(digestOf(salt, turned)).toBe(digestOf(salt, operation));
        expect(digestOf('cd'.repeat(32), operation)).not.toBe(digestOf(salt, operation));
      }),
    );
    const { text, digest } = operationEnvelope(salt, 'act_1', 'tool', effect.operation);
    expect([openOperation(text), sha256Digest(text)]).toEqual([effect.operation, digest]);
  });

  it('of a result cannot be taken for that of an operation', () => {
    expect(resultEnvelope(salt, 'act_1', 1).digest).not.toBe(digestOf(salt, 1));
    expect(resultEnvelope(salt, 'a', 1).digest).not.toBe(resultEnvelope(salt, 'b', 1).digest);
  });
});

describe('an identity', () => {
  it('stays, and is shared by no other', () => {
    const runId = deriveRunId('workflow:example.org/w', 'n');
    const drivers = ['a', 'b'].flatMap((namespace) =>
      ['a', 'b'].flatMap((workflowId) =>
        ['a', 'b'].map((temporalRunId) => driverDigest({ namespace, workflowId, temporalRunId })),
      ),
    );
    const all = [
      runId,
      deriveRunId('workflow:example.org/w', 'm'),
      deriveRunId('workflow:example.org/v', 'n'),
      deriveActionId(runId, 'n'),
      deriveActionId(runId, 'm'),
      carrierWorkflowId(runId),
      ...drivers,
    ];
    expect(new Set(all).size).toBe(all.length);
    expect(deriveRunId('workflow:example.org/w', 'n')).toBe(runId);
  });
});
