/**
 * What a plan asks of people, as they are shown it before they sign. Invariant: the plan is the one that the execution's history
 * begins with, its digest computed here; a question about any other is not shown.
 */
import type { PlanHandle, PlanStatus, Question } from '../client';
import { carriedPlan } from '../plan-of-execution';
import type { ContentStore } from '../ports';
import type { RecoveryPhase } from '../rules/recovery';
import { callOfPlan, type CallOfPlan } from '../rules/invocations/call-of-plan';
import { effectRecords, type GovernedPlan } from '../rules/plans/plan';
import { Refusal } from '../rules/refusal';
import { CliError } from './failure';
import { statusOf } from './follow';
import { AsGiven, table } from './output';
import type { NamedRun } from './plan-file';
import type { Service } from './service';
import { operationLines, operationsOf } from './shown-operations';

export interface Asked {
  readonly handle: PlanHandle;
  readonly plan: GovernedPlan;
  readonly status: PlanStatus;
  /** Null while nothing is asked. */
  readonly question: Question | null;
  /** The call of a session that it is. */
  readonly call: CallOfPlan | null;
  /** What its effects would do; null where no content store was named. */
  readonly operations: readonly unknown[] | null;
}

export async function askedAbout(
  service: Service,
  { runId, planDigest }: NamedRun,
  contents: ContentStore | null = null,
): Promise<Asked> {
  const handle = service.plans.getHandle(runId);
  const { plan, callId } = await service.soon(() => carriedPlan(service.client, handle.workflowId));
  if (planDigest !== null && planDigest !== plan.planDigest) {
    throw new Refusal('receipt_wrong_plan', `is not the plan of this run, which is ${plan.planDigest}`, 'plan');
  }
  const status = await statusOf(service, handle);
  if (status === null) {
    throw new CliError('service_unavailable', 'no worker answers for this plan; start one, it is asked what is wanted');
  }
  const question = await service.soon(() => handle.approvals());
  if (plan.runId !== runId || (question !== null && question.planDigest !== plan.planDigest)) {
    throw new Refusal('receipt_wrong_plan', 'the question is not about the plan that its execution began with', 'plan');
  }
  const operations = contents === null ? null : await operationsOf(contents, plan);
  return { handle, plan, status, question, call: callOfPlan(plan, callId), operations };
}

export type RequesterShown = 'signed' | 'named' | 'unverified';

const REQUESTERS: Record<RequesterShown, string> = {
  signed: 'verified: who asked has signed so',
  named: 'unverified: the plan names a person, who has not signed',
  unverified: 'unverified: nobody is named',
};

export function requesterOf({ plan, question }: Asked): RequesterShown {
  const signed = question?.requesters ?? [];
  if (plan.requester === null) return signed.length > 0 ? 'signed' : 'unverified';
  return signed.includes(plan.requester) ? 'signed' : 'named';
}

export function shownData(asked: Asked): Record<string, unknown> {
  const { handle, plan, status, question, call, operations } = asked;
  return {
    runId: plan.runId,
    carriedBy: handle.workflowId,
    workflowId: plan.workflowId,
    call,
    planDigest: plan.planDigest,
    order: plan.order,
    lineage: status.lineage,
    head: status.head,
    state: status.state,
    reason: status.reason,
    requester: requesterOf(asked),
    observedAt: status.observed_at,
    resumesAt: status.resumes_at,
    effects: effectRecords(plan).map(({ idempotencyKey }, ordinal) => ({
      ordinal,
      ...plan.effects[ordinal],
      idempotencyKey,
      ...stateOf(status, ordinal),
      ...(operations === null ? {} : { operation: new AsGiven(operations[ordinal]) }),
    })),
    asked: question === null ? null : askedData(question),
  };
}

function stateOf(status: PlanStatus, ordinal: number): Record<string, unknown> {
  const effect = status.effects[ordinal];
  return { state: effect?.state ?? 'not_sent', doubt: effect?.doubt ?? null, proof: effect?.proof ?? null };
}

/** Keys stay where they are: whoever wants to know them looks at the reviewers' keys. */
function askedData(question: Question): Record<string, unknown> {
  const { journalId, lineage, headDigest, asksApproval, rules, resolutions, doubtful, have, deadlineMs } = question;
  const there = have.map(({ digest, says, role, kid, expiresAt }) => ({ receipt: digest, says, role, kid, expiresAt }));
  return { journalId, lineage, headDigest, asksApproval, rules, resolutions, doubtful, have: there, deadlineMs };
}

export function shownLines(asked: Asked): readonly string[] {
  const { plan, status, question, call, operations } = asked;
  const head = status.head === null ? 'no checkpoint yet' : `head ${status.head.sequence} ${status.head.digest}`;
  const rows = plan.effects.map((effect, ordinal) => {
    const { state, doubt, proof } = stateOf(status, ordinal);
    const why = doubt ?? proof ?? (state === 'unknown' ? 'may have been sent since the sinks were asked' : null);
    return [
      String(ordinal),
      effect.toolId,
      effect.kind,
      `${String(state)}${why === null ? '' : ` (${String(why)})`}`,
      effect.actionId,
      effect.operationDigest,
    ];
  });
  return [
    `run ${plan.runId} of ${plan.workflowId}: ${phaseOf(status)}, lineage ${status.lineage}`,
    ...(call === null ? [] : [`call ${call.callId} of session ${call.session}: ${call.queue}`]),
    `plan ${plan.planDigest}`,
    head,
    `requester: ${REQUESTERS[requesterOf(asked)]}`,
    ...table(rows),
    ...(operations === null ? [] : operationLines(operations)),
    ...(status.observed_at === null ? [] : [`sinks asked at ${new Date(status.observed_at).toISOString()}`]),
    ...doubts(asked),
    ...(question === null ? [`nothing is asked; ${standingOf(status)}`] : askedLines(question, status)),
  ];
}

/** What a person has to look for at a sink. */
function doubts({ plan, status, question }: Asked): readonly string[] {
  const inDoubt = effectRecords(plan).filter(
    ({ actionId }, ordinal) =>
      question?.doubtful.includes(actionId) === true || stateOf(status, ordinal)['doubt'] !== null,
  );
  return inDoubt.map(({ actionId, idempotencyKey }) => `in doubt: ${actionId}, at its sink under ${idempotencyKey}`);
}

/** What the plan is at, and until when. */
export function standingOf({ state, resumes_at: at }: PlanStatus): string {
  return at === null ? `the plan is ${state}` : `the plan is ${state} until ${new Date(at).toISOString()}`;
}

function phaseOf({ phase, state, reason }: PlanStatus): string {
  return `${(phase as RecoveryPhase | null) ?? 'not begun'}, ${state}${reason === null ? '' : ` (${reason})`}`;
}

function askedLines(question: Question, status: PlanStatus): readonly string[] {
  const { asksApproval, rules, resolutions, have, deadlineMs } = question;
  const wanted = rules.map(({ approvals, roles, signedRequest }) => {
    const who = roles === undefined ? 'any reviewer' : roles.join(' or ');
    return `  ${approvals} of ${who}${signedRequest === true ? ', and a signed request' : ''}`;
  });
  return [
    ...(status.message === null ? [] : [status.message]),
    ...(asksApproval ? ['asked for approvals:', ...wanted] : []),
    ...(deadlineMs === null ? [] : [`something follows in ${Math.ceil(deadlineMs / 1000)} s if nobody answers`]),
    ...(asksApproval ? [] : [`possible resolutions: ${resolutions.join(', ')}`]),
    ...have.map(({ says, role, kid, expiresAt }) => {
      return `there: ${says} by key ${kid}${role === null ? '' : ` as ${role}`}, until ${new Date(expiresAt).toISOString()}`;
    }),
  ];
}
