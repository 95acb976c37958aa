/**
 * The calls of a recorded round become plans. Invariant: it may run any number of times and answers the same for a call that the journal
 * knows; arguments are validated before a policy sees them, and a policy decides before anything of the call is stored for a worker.
 */
import { judgeCall } from '../rules/invocations/policy';
import { CALLS_ORIGIN, callIdOf, callRunId, queueNameOf, sessionWorkflowId } from '../rules/invocations/names';
import { governedOrigin } from '../rules/calls/identity';
import { planToRecord, type GovernedPlan } from '../rules/plans/plan';
import { workflowIdDigest } from '../rules/plans/identity';
import { Refusal } from '../rules/refusal';
import { UNDECLARED_CLASS, effectiveClass } from '../rules/invocations/class-table';
import type { RoundCall, RoundRecord } from '../rules/sessions/round-record';
import type { SessionDefinition } from '../rules/sessions/definition-record';
import { settleDemand } from './call-demands';
import { prepareDraft } from './prepare';
import type { PreparedCall, PrepareRequest, RefusedToolCall } from './session-contract';
import { rulesUntil, termsToRecords } from './session-demand';
import type { SessionEngine, SessionTool } from './session-engine';

export async function sessionPrepare(
  engine: SessionEngine,
  { session_id: session, turn, round }: PrepareRequest,
  now: number,
): Promise<readonly PreparedCall[]> {
  const files = engine.shelf.files(session);
  const record = await files.round(turn, round);
  if (record === null)
    throw new Refusal('journal_invalid', 'holds no answer of the model for this round', `${turn}/${round}`);
  const definition = await files.definition();
  return Promise.all(record.calls.map((call, index) => prepared(engine, definition, record, call, index, now)));
}

async function prepared(
  engine: SessionEngine,
  definition: SessionDefinition,
  { turn, round }: RoundRecord,
  { tool: name, argsDigest }: RoundCall,
  index: number,
  now: number,
): Promise<PreparedCall> {
  const { session, agentVersion } = definition;
  const bound = definition.tools.find(({ tool }) => tool === name);
  const common = { index, call_id: callIdOf({ session, agentVersion, turn, round, index }), args_digest: argsDigest };
  if (bound === undefined) {
    const nothing = { capacity: 'native', queue_wait_ms: 0, execution_ms: 0, descriptor_hash: null } as const;
    const unknown = { tool: name, version: null, side_effect: UNDECLARED_CLASS };
    return { ...common, ...unknown, ...nothing, ...refused('call:unknown_tool') };
  }
  const tool = engine.tools.get(bound);
  const sideEffect = effectiveClass(tool.sideEffect, bound.sideEffect);
  const told = {
    ...common,
    ...{ tool: bound.tool, version: bound.version, side_effect: sideEffect },
    descriptor_hash: tool.descriptorHash,
    capacity: tool.capacity,
    queue_wait_ms: tool.queueWaitMs,
    queue_bound: tool.queueBound,
    execution_ms: tool.executionMs,
  };
  const checked = await tool.checkInput(await engine.contents.content(argsDigest));
  if (!checked.ok) return { ...told, ...refused('call:invalid_arguments') };
  const verdict = judgeCall(engine.policies, { tool: bound, args: checked.value });
  if (verdict.decision === 'deny') return { ...told, ...refused('policy:denied', verdict.rule) };
  const plan = await planned(engine, definition, common.call_id, tool, checked.value);
  await engine.at?.('call_planned');
  if (plan === 'conflict') return { ...told, ...refused('call:conflict') };
  const terms = verdict.decision === 'allow' ? [] : verdict.terms;
  const call = { ...told, status: 'planned', plan: planToRecord(plan) } as const;
  const narrowed = sideEffect === tool.sideEffect ? {} : { sideEffect };
  if (terms.length === 0 && sideEffect === tool.sideEffect) return { ...call, terms: [], demand: 0 };
  // Whoever is asked can be shown it.
  await engine.contents.keepSchema(plan.runId, tool.inputSchema);
  const { runId, planDigest } = plan;
  const wanted = { runId, planDigest, rules: rulesUntil(terms, now), ...narrowed };
  const { demand, record: stands } = await settleDemand(engine.journal, 1, wanted);
  return { ...call, terms: termsToRecords(terms, stands), demand };
}

async function planned(
  { journal, contents }: SessionEngine,
  { session, requester }: SessionDefinition,
  callId: string,
  tool: SessionTool,
  operation: unknown,
): Promise<GovernedPlan | 'conflict'> {
  const runId = callRunId(callId, tool);
  const known = await journal.plan(runId);
  const effect = {
    id: `${queueNameOf(tool)}/${callId}`,
    toolId: tool.toolId,
    kind: 'local_tool',
    operation,
    approvalRequired: false,
    compensationLimit: 'none',
  } as const;
  const draft = { workflowId: governedOrigin(CALLS_ORIGIN), runId, order: 'ordered', effects: [effect] } as const;
  const origin = workflowIdDigest(sessionWorkflowId(session));
  const plan = await prepareDraft(contents, draft, { origin, requester });
  if (known === null) return plan;
  return known.effects[0]?.operationDigest === plan.effects[0]?.operationDigest ? known : 'conflict';
}

function refused(code: RefusedToolCall['code'], rule: string | null = null): RefusedToolCall {
  return { status: 'refused', code, rule };
}
