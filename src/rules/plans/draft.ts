/**
 * A draft: the plan as an author writes it, with contents. Invariant: a draft either becomes exactly one plan and one
 * envelope an effect, or is refused by the path of its first faulty field before anything is stored.
 */
import {
  COMPENSATION_LIMITS,
  EFFECT_KINDS,
  isGovernedId,
  isRunId,
  type CompensationLimit,
  type EffectKind,
} from '../recovery';
import { Fields } from '../fields';
import { operationEnvelope, type Envelope } from './envelope';
import { deriveActionId, deriveRunId } from './identity';
import { PLAN_ORDERS, createPlan, type GovernedPlan, type PlanOrder } from './plan';

const EFFECT_ID = /^[^\s\u0000-\u001f\u007f](?:[^\u0000-\u001f\u007f]{0,198}[^\s\u0000-\u001f\u007f])?$/;

export interface DraftEffect {
  /** The author's own name of the effect in this run; the same id is the same effect for ever. */
  readonly id: string;
  readonly toolId: string;
  readonly kind: EffectKind;
  readonly operation: unknown;
  readonly approvalRequired: boolean;
  readonly compensationLimit: CompensationLimit;
}

export interface PlanDraft {
  readonly workflowId: string;
  readonly runId: string;
  readonly order: PlanOrder;
  readonly effects: readonly DraftEffect[];
}

export function draftFromJson(value: unknown): PlanDraft {
  const at = new Fields(value, '', 'invalid_plan');
  const workflowId = at.text('workflow_id', 'a governed id such as workflow:example.org/discharge', (text) =>
    isGovernedId(text, 'workflow'),
  );
  const name = at.optional(
    'name',
    (field) => at.text(field, '1 to 200 characters', (text) => EFFECT_ID.test(text)),
    '',
  );
  const given = at.optional('run_id', (field) => at.text(field, '"run_" and 32 lowercase hex digits', isRunId), '');
  if (name === '' && given === '') {
    at.refuse('or "run_id" is missing: it says which run this is, so that asking again never sends again', 'name');
  }
  if (name !== '' && given !== '') at.refuse('and "run_id" exclude each other; keep one', 'name');
  const order = at.optional('order', (field) => at.oneOf(field, PLAN_ORDERS), 'ordered');
  const effects = at.list('effects', 1).map(draftEffect);
  at.end();
  const ids = new Set<string>();
  for (const [index, effect] of effects.entries()) {
    if (ids.has(effect.id))
      new Fields({}, `effects[${index}]`, 'invalid_plan').refuse('is used twice in this plan', 'id');
    ids.add(effect.id);
  }
  return { workflowId, runId: given === '' ? deriveRunId(workflowId, name) : given, order, effects };
}

function draftEffect(value: unknown, index: number): DraftEffect {
  const at = new Fields(value, `effects[${index}]`, 'invalid_plan');
  const effect = {
    id: at.text('id', '1 to 200 characters without control characters', (text) => EFFECT_ID.test(text)),
    toolId: at.text('tool_id', 'a governed id such as tool:example.org/reserve@1.0.0', (text) =>
      isGovernedId(text, 'tool'),
    ),
    kind: at.oneOf('kind', EFFECT_KINDS),
    operation: at.raw('operation'),
    approvalRequired: at.optional('approval_required', (field) => at.flag(field), false),
    compensationLimit: at.optional('compensation_limit', (field) => at.oneOf(field, COMPENSATION_LIMITS), 'none'),
  };
  at.end();
  return effect;
}

/** The plan of a draft, and the envelopes to store before anyone drives it. */
export function planFromDraft(
  draft: PlanDraft,
  runSalt: string,
  identity: { origin: string | null; requester: string | null } = { origin: null, requester: null },
): { readonly plan: GovernedPlan; readonly envelopes: readonly Envelope[] } {
  const envelopes: Envelope[] = [];
  const effects = draft.effects.map((effect) => {
    const actionId = deriveActionId(draft.runId, effect.id);
    const envelope = operationEnvelope(runSalt, actionId, effect.toolId, effect.operation);
    envelopes.push(envelope);
    const { toolId, kind, approvalRequired, compensationLimit } = effect;
    return { actionId, toolId, kind, operationDigest: envelope.digest, approvalRequired, compensationLimit };
  });
  const plan = createPlan({
    workflowId: draft.workflowId,
    runId: draft.runId,
    order: draft.order,
    ...identity,
    effects,
  });
  return { plan, envelopes };
}
