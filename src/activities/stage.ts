/**
 * Staging: an author's arguments become a content-free plan. Invariant: it may run any number of times and stores the same;
 * whose workflow it is comes from the server; the journal is named before anything is sent, so that no other takes the plan up;
 * and a call that the journal knows is answered with the plan that stands there, so that a change of what this worker demands
 * does not make another plan of it.
 */
import { ApplicationFailure, type Context } from '@temporalio/activity';
import type { EffectDefinition } from '../ports';
import { deriveCallRunId, governedOrigin } from '../rules/calls/identity';
import { resolveRefs } from '../rules/calls/ref';
import type { DraftEffect } from '../rules/plans/draft';
import { workflowIdDigest } from '../rules/plans/identity';
import { planToRecord, type GovernedPlan } from '../rules/plans/plan';
import type { Dict } from '../rules/fields';
import { Refusal } from '../rules/refusal';
import type { StageRequest, StagedCall, StagedPlan } from './contract';
import type { Engine } from './engine';
import { planConflict } from './journal';
import { prepareDraft } from './prepare';

type Stores = Pick<Engine, 'journal' | 'contents' | 'registry'>;

export async function stage(stores: Stores, workflowId: string, request: StageRequest): Promise<Dict> {
  const { origin, effect, id, order, calls } = request;
  const runId = deriveCallRunId({ origin, workflowId, effect, id });
  if (calls.length === 0) throw new Refusal('invalid_arguments', 'is empty; name at least one effect', 'effects');
  const effects = await Promise.all(calls.map((call) => draftEffect(stores, call)));
  const known = await stores.journal.plan(runId);
  if (known !== null && (await stores.contents.knownSalt(runId)) === null) {
    throw new Refusal('content_missing', 'the content store has lost what it knew of this run; restore it', runId);
  }
  const draft = { workflowId: governedOrigin(origin), runId, order, effects };
  const plan = await prepareDraft(stores.contents, draft, { origin: workflowIdDigest(workflowId), requester: null });
  if (known !== null && !sameEffects(known, plan)) throw planConflict();
  return planToRecord(known ?? plan);
}

/** As an activity: a refusal is final, whatever else goes wrong is tried again. */
export async function stageFor(context: Context, stores: Stores, request: StageRequest): Promise<StagedPlan> {
  try {
    return await stagedPlan(context, stores, request);
  } catch (fault) {
    if (fault instanceof Refusal) throw ApplicationFailure.nonRetryable(fault.message, fault.code);
    throw fault;
  }
}

export async function stagedPlan({ info }: Context, stores: Stores, request: StageRequest): Promise<StagedPlan> {
  const plan = await stage(stores, info.workflowExecution?.workflowId ?? '', request);
  return { plan, journal_id: await stores.journal.id() };
}

async function draftEffect({ contents, registry }: Stores, call: StagedCall): Promise<DraftEffect> {
  const definition = registry.named(call.effect);
  const given = await resolveRefs(call.args, (digest) => contents.content(digest));
  return {
    id: `${call.effect}/${call.id}`,
    toolId: definition.toolId,
    kind: definition.sink.kind,
    operation: await checked(call.effect, definition, given),
    approvalRequired: definition.approvalRequired ?? false,
    compensationLimit: definition.compensationLimit ?? 'none',
  };
}

async function checked(effect: string, { checkInput }: EffectDefinition, given: unknown): Promise<unknown> {
  if (checkInput === undefined) return given;
  const answer = await checkInput(given);
  if (answer.ok) return answer.value;
  throw new Refusal('invalid_arguments', `do not fit its input schema (${answer.faults.join('; ')})`, effect);
}

/** What a call is, apart from what a worker demands of it. */
function sameEffects(known: GovernedPlan, plan: GovernedPlan): boolean {
  const essence = ({ effects, order }: GovernedPlan): string =>
    JSON.stringify([
      order,
      effects.map(({ actionId, toolId, operationDigest }) => [actionId, toolId, operationDigest]),
    ]);
  return known.origin === plan.origin && essence(known) === essence(plan);
}
