/**
 * The question whether a session may go on behind one of its limits. Invariant: it is a plan as any other that people are asked about,
 * at the same doors; nothing is ever sent for it, and asked again it is the same plan.
 */
import { governedOrigin } from '../rules/calls/identity';
import {
  CALLS_ORIGIN,
  LIMIT_TOOL,
  limitEffectId,
  limitRunId,
  sessionWorkflowId,
  toolIdOf,
} from '../rules/invocations/names';
import { judgeTrigger } from '../rules/invocations/policy';
import { SESSION_LIMITS } from '../rules/invocations/vocabulary';
import { workflowIdDigest } from '../rules/plans/identity';
import { planToRecord } from '../rules/plans/plan';
import { Refusal } from '../rules/refusal';
import { settleDemand } from './call-demands';
import { prepareDraft } from './prepare';
import type { LimitRequest, PlannedToolCall } from './session-contract';
import { rulesUntil, termsToRecords } from './session-demand';
import type { SessionEngine } from './session-engine';

export async function sessionLimit(
  { shelf, contents, policies, journal }: SessionEngine,
  { session_id: session, limit: reached, question }: LimitRequest,
  now: number,
): Promise<PlannedToolCall | null> {
  const limit = SESSION_LIMITS.find((known) => known === reached);
  if (limit === undefined || !(question >= 1)) throw new Refusal('invalid_record', 'names no limit', 'limit');
  const facts = { tool: null, args: { limit }, trigger: 'limit:escalate', outcome: limit } as const;
  const verdict = judgeTrigger(policies, facts);
  if (verdict.decision === 'fail') return null;
  const { requester } = await shelf.files(session).definition();
  const effect = {
    id: limitEffectId(limit, question),
    toolId: toolIdOf(LIMIT_TOOL),
    kind: 'local_tool',
    operation: { session, limit, question },
    approvalRequired: false,
    compensationLimit: 'none',
  } as const;
  const runId = limitRunId(session, limit, question);
  const draft = { workflowId: governedOrigin(CALLS_ORIGIN), runId, order: 'ordered', effects: [effect] } as const;
  const known = await journal.plan(runId);
  const origin = workflowIdDigest(sessionWorkflowId(session));
  const plan = known ?? (await prepareDraft(contents, draft, { origin, requester }));
  const { planDigest } = plan;
  const wanted = { runId, planDigest, rules: rulesUntil(verdict.terms, now) };
  const { demand, record } = await settleDemand(journal, 1, wanted);
  return { status: 'planned', plan: planToRecord(plan), terms: termsToRecords(verdict.terms, record), demand };
}
