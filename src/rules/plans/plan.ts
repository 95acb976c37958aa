/**
 * A governed plan: the ordered effects of one run, by digest only. Invariant: a plan names no content, its digest covers
 * everything in it, and its all-committed form with an approval fits into one checkpoint file, so no plan can get stuck on size.
 */
import {
  COMPENSATION_LIMITS,
  EFFECT_KINDS,
  EffectRecord,
  MAX_CHECKPOINT_BYTES,
  RecoveryCheckpoint,
  canonicalJson,
  isActionId,
  isDigest,
  isGovernedId,
  isRunId,
  sha256Digest,
  type CompensationLimit,
  type EffectKind,
} from '../recovery';
import { Fields, type Dict } from '../fields';
import { Refusal } from '../refusal';

export const PLAN_SCHEMA_VERSION = 'countersign.plan.v1';
export const PLAN_ORDERS = ['ordered', 'independent'] as const;
/** `ordered` sends one effect after the other; `independent` sends up to the sink's `maxInFlight` at once. */
export type PlanOrder = (typeof PLAN_ORDERS)[number];

export interface PlannedEffect {
  readonly actionId: string;
  readonly toolId: string;
  readonly kind: EffectKind;
  readonly operationDigest: string;
  readonly approvalRequired: boolean;
  readonly compensationLimit: CompensationLimit;
}

export interface GovernedPlan {
  readonly workflowId: string;
  readonly runId: string;
  readonly order: PlanOrder;
  /** Digest of the id of the Temporal workflow that may carry this plan, beside `countersign/<run_id>`. */
  readonly origin: string | null;
  /** Who asked for it: a digest, or null when nobody is named. */
  readonly requester: string | null;
  readonly effects: readonly PlannedEffect[];
  readonly planDigest: string;
}

/** The wire form, as in `plan.json` and in a workflow's input. */
export type PlanRecord = Dict;

export function createPlan(fields: Omit<GovernedPlan, 'planDigest'>): GovernedPlan {
  const plan = { ...fields, planDigest: sha256Digest(canonicalJson(body(fields))) };
  refuseUnusable(plan);
  return plan;
}

export function planToRecord(plan: GovernedPlan): PlanRecord {
  return { ...body(plan), plan_digest: plan.planDigest };
}

export function planFromRecord(value: unknown): GovernedPlan {
  const at = new Fields(value, '', 'invalid_plan');
  at.text('schema_version', `"${PLAN_SCHEMA_VERSION}"`, (text) => text === PLAN_SCHEMA_VERSION);
  const fields = {
    workflowId: at.text('workflow_id', 'a governed id such as workflow:example.org/discharge', (text) =>
      isGovernedId(text, 'workflow'),
    ),
    runId: at.text('run_id', '"run_" and 32 lowercase hex digits', isRunId),
    order: at.oneOf('order', PLAN_ORDERS),
    origin: at.nullable('origin', (name) => at.text(name, 'a sha256 digest or null', isDigest)),
    requester: at.nullable('requester', (name) => at.text(name, 'a sha256 digest or null', isDigest)),
    effects: at.list('effects', 1).map(plannedEffect),
  };
  const digest = at.text('plan_digest', 'a sha256 digest', isDigest);
  at.end();
  const plan = createPlan(fields);
  if (plan.planDigest !== digest) at.refuse('is not the digest of this plan; make the plan again', 'plan_digest');
  return plan;
}

/** Checkpoint 0 of the first lineage: a pure function of the plan, so every driver writes the same bytes. */
export function openingCheckpoint(plan: GovernedPlan): RecoveryCheckpoint {
  return RecoveryCheckpoint.create(opening(plan));
}

/** The phase-planned effects of a plan, with their idempotency keys. */
export function effectRecords(plan: GovernedPlan): readonly EffectRecord[] {
  const known = recordsOf.get(plan);
  if (known !== undefined) return known;
  const records = plan.effects.map((effect, index) =>
    EffectRecord.create({ ...effect, runId: plan.runId, ordinal: BigInt(index) }),
  );
  recordsOf.set(plan, records);
  return records;
}

/** A plan never changes, and each key costs a hash: they are derived once for each plan that is read. */
const recordsOf = new WeakMap<GovernedPlan, readonly EffectRecord[]>();

function plannedEffect(value: unknown, index: number): PlannedEffect {
  const at = new Fields(value, `effects[${index}]`, 'invalid_plan');
  const effect = {
    actionId: at.text('action_id', '"act_" and 32 lowercase hex digits', isActionId),
    toolId: at.text('tool_id', 'a governed id such as tool:example.org/reserve@1.0.0', (text) =>
      isGovernedId(text, 'tool'),
    ),
    kind: at.oneOf('kind', EFFECT_KINDS),
    operationDigest: at.text('operation_digest', 'a sha256 digest', isDigest),
    approvalRequired: at.flag('approval_required'),
    compensationLimit: at.oneOf('compensation_limit', COMPENSATION_LIMITS),
  };
  at.end();
  return effect;
}

function body(plan: Omit<GovernedPlan, 'planDigest'>): Dict {
  return {
    schema_version: PLAN_SCHEMA_VERSION,
    workflow_id: plan.workflowId,
    run_id: plan.runId,
    order: plan.order,
    origin: plan.origin,
    requester: plan.requester,
    effects: plan.effects.map((effect) => ({
      action_id: effect.actionId,
      tool_id: effect.toolId,
      kind: effect.kind,
      operation_digest: effect.operationDigest,
      approval_required: effect.approvalRequired,
      compensation_limit: effect.compensationLimit,
    })),
  };
}

function opening(plan: GovernedPlan): Parameters<typeof RecoveryCheckpoint.create>[0] {
  return {
    workflowId: plan.workflowId,
    runId: plan.runId,
    sequence: 0n,
    phase: 'planned',
    planDigest: plan.planDigest,
    approvalActionDigest: null,
    approvalReceiptDigest: null,
    approvalExpiresAt: null,
    previousCheckpointDigest: null,
    recoveryEvidenceDigest: null,
    effects: effectRecords(plan),
  };
}

/** Bytes of a checkpoint without its effects and its workflow id: in the phase with the longest name, every number at its longest. */
const FIXED_BYTES = 821;
/** Bytes of a committed effect without tool, kind, limit, ordinal and flag, and with the comma behind it. */
const EFFECT_BYTES = 434;

/** Bytes of the largest checkpoint that this plan can ever need: every effect committed under an approval. */
export function largestCheckpointBytes(plan: Pick<GovernedPlan, 'workflowId' | 'effects'>): number {
  let bytes = FIXED_BYTES + plan.workflowId.length - 1;
  for (const [ordinal, effect] of plan.effects.entries()) {
    const { toolId, kind, compensationLimit, approvalRequired } = effect;
    bytes += EFFECT_BYTES + toolId.length + kind.length + compensationLimit.length;
    bytes += String(ordinal).length + String(approvalRequired).length;
  }
  return bytes;
}

function refuseUnusable(plan: GovernedPlan): void {
  const actions = new Set(plan.effects.map((effect) => effect.actionId));
  if (actions.size !== plan.effects.length) {
    throw new Refusal('invalid_plan', 'names one action twice; give every effect an id of its own', 'effects');
  }
  const bytes = largestCheckpointBytes(plan);
  if (bytes > MAX_CHECKPOINT_BYTES) {
    throw new Refusal(
      'plan_too_large',
      `${plan.effects.length} effects would need a checkpoint of ${bytes} bytes, over the limit of ` +
        `${MAX_CHECKPOINT_BYTES}; split the work into several plans`,
      'effects',
    );
  }
}
