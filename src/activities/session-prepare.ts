/**
 * The calls of a recorded round become plans. Invariant: it may run any number of times and answers the same for a call that the journal
 * knows; arguments are validated before a policy sees them, and a policy decides before anything of the call is stored for a worker.
 */
import { approvalRuleOf, judgeCall } from '../rules/invocations/policy';
import { callIdOf, callRunId, queueNameOf, sessionWorkflowId } from '../rules/invocations/names';
import { governedOrigin } from '../rules/calls/identity';
import { planToRecord, type GovernedPlan } from '../rules/plans/plan';
import { workflowIdDigest } from '../rules/plans/identity';
import { Refusal } from '../rules/refusal';
import { UNDECLARED_CLASS } from '../rules/invocations/class-table';
import type { RoundCall, RoundRecord } from '../rules/sessions/round-record';
import type { SessionDefinition } from '../rules/sessions/definition-record';
import { settleDemand } from './call-demands';
import { prepareDraft } from './prepare';
import type { PreparedCall, PrepareRequest, RefusedToolCall } from './session-contract';
import { demandOf, termsToRecord } from './session-demand';
import type { SessionEngine, SessionTool } from './session-engine';

const ORIGIN = 'countersign.session';
/** Some rule allows calls, and none this one. */
const NO_RULE = 'allowed-by-none';

export async function sessionPrepare(
  engine: SessionEngine,
  { session_id: session, turn, round }: PrepareRequest,
): Promise<readonly PreparedCall[]> {
  const files = engine.shelf.files(session);
  const record = await files.round(turn, round);
  if (record === null)
    throw new Refusal('journal_invalid', 'holds no answer of the model for this round', `${turn}/${round}`);
  const definition = await files.definition();
  return Promise.all(record.calls.map((call, index) => prepared(engine, definition, record, call, index)));
}

async function prepared(
  engine: SessionEngine,
  definition: SessionDefinition,
  { turn, round }: RoundRecord,
  { tool: name, argsDigest }: RoundCall,
  index: number,
): Promise<PreparedCall> {
  const { session, agentVersion } = definition;
  const bound = definition.tools.find(({ tool }) => tool === name);
  const common = { index, call_id: callIdOf({ session, agentVersion, turn, round, index }), args_digest: argsDigest };
  if (bound === undefined) {
    const nothing = { side_effect: UNDECLARED_CLASS, capacity: 'native', queue_wait_ms: 0, execution_ms: 0 } as const;
    return { ...common, tool: name, version: null, ...nothing, ...refused('call:unknown_tool') };
  }
  const tool = engine.tools.get(bound);
  const told = {
    ...common,
    ...bound,
    side_effect: tool.sideEffect,
    capacity: tool.capacity,
    queue_wait_ms: tool.queueWaitMs,
    execution_ms: tool.executionMs,
  };
  const checked = await tool.checkInput(await engine.contents.content(argsDigest));
  if (!checked.ok) return { ...told, ...refused('call:invalid_arguments') };
  const verdict = judgeCall(engine.policies, { tool: bound, args: checked.value });
  if (verdict.decision === 'deny') return { ...told, ...refused('policy:denied', verdict.rule ?? NO_RULE) };
  const plan = await planned(engine, definition, common.call_id, tool, checked.value);
  await engine.at?.('call_planned');
  if (plan === 'conflict') return { ...told, ...refused('call:conflict') };
  const terms = verdict.decision === 'allow' ? [] : verdict.terms;
  if (terms.length > 0) await engine.contents.keepSchema(plan.runId, tool.inputSchema);
  if (terms.length > 0) await settleDemand(engine.journal, 1, demandOf(plan, terms.map(approvalRuleOf)));
  return { ...told, status: 'planned', plan: planToRecord(plan), terms: terms.map(termsToRecord) };
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
  const draft = { workflowId: governedOrigin(ORIGIN), runId, order: 'ordered', effects: [effect] } as const;
  const origin = workflowIdDigest(sessionWorkflowId(session));
  const plan = await prepareDraft(contents, draft, { origin, requester });
  if (known === null) return plan;
  return known.effects[0]?.operationDigest === plan.effects[0]?.operationDigest ? known : 'conflict';
}

function refused(code: RefusedToolCall['code'], rule: string | null = null): RefusedToolCall {
  return { status: 'refused', code, rule };
}
