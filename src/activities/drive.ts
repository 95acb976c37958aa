/**
 * `drive`: load, check, take the turn, then rounds of observe, decide, append, send. Invariant: it believes only the journal
 * and what sinks and slots prove; whatever goes wrong outside that is thrown, which its workflow treats as unknown.
 */
import { RecoveryError, isTerminalPhase, type RecoveryCheckpoint } from '../rules/recovery';
import type { Dict } from '../rules/fields';
import { carrierWorkflowId, workflowIdDigest } from '../rules/plans/identity';
import { effectRecords, openingCheckpoint, planFromRecord, type GovernedPlan } from '../rules/plans/plan';
import { Refusal } from '../rules/refusal';
import { witnessToRecord } from '../rules/sends/witness';
import { adopt } from './adopt';
import { begin } from './begin';
import { lastDemand } from './call-demands';
import { isParkable, type DriveRequest, type DriveResult, type DriveStatus } from './contract';
import type { Caller, Engine } from './engine';
import { Overtaken, planConflict } from './journal';
import type { Target } from './look-up';
import { observeAll, proven } from './observe';
import { recall } from './recall';
import { Rounds } from './rounds';
import { reasonGiven } from './said';
import { closeSlots } from './takeover';
import { tellStatus } from './telemetry';
import { queueOf, refuseOtherCall } from './tool-door';

export async function drive(engine: Engine, caller: Caller, request: DriveRequest): Promise<DriveResult> {
  // Filled in on the way, so that a refusal half-way still says which journal and head it speaks of.
  const nothing = { journal_id: request.journal_id ?? '', epoch: null, replayed: false, steps: [], head: null };
  let found: Found = { ...nothing };
  try {
    const result = await checkedDrive(engine, caller, request, found).catch((fault: unknown) => {
      if (!(fault instanceof Overtaken)) throw fault;
      // Now there is somebody to be found.
      found = { ...nothing };
      return checkedDrive(engine, caller, request, found);
    });
    tellStatus(engine, request, result);
    return await withExecutions(engine, request, result);
  } catch (fault) {
    const refusal = refusalOf(fault);
    if (refusal === null) throw fault;
    return { ...found, ...turnedDown(request, found, refusal), epoch: null };
  }
}

/** Of a call: how often it was begun, wherever that was. An execution that never came back counts as well. */
async function withExecutions(engine: Engine, request: DriveRequest, result: DriveResult): Promise<DriveResult> {
  const tells = result.status === 'done' || result.status === 'parked' || result.status === 'waiting';
  if (request.call_id === undefined || !tells) return result;
  const plan = planFromRecord(request.plan);
  const slots = await engine.journal.slots(plan.runId, effectRecords(plan)[0]?.idempotencyKey ?? '');
  const begun = slots.filter(({ record }) => record.state === 'begun').map(({ record }) => record.openedAt);
  return { ...result, begun };
}

interface Found {
  journal_id: string;
  epoch: number | null;
  replayed: boolean;
  steps: readonly Dict[];
  head: DriveResult['head'];
}

async function checkedDrive(engine: Engine, caller: Caller, request: DriveRequest, found: Found): Promise<DriveResult> {
  const plan = planFromRecord(request.plan);
  refuseStranger(plan, request, caller);
  refuseOtherCall(plan, request);
  refuseLineage(request);
  found.journal_id = await engine.journal.id();
  if (request.journal_id !== null && request.journal_id !== found.journal_id) {
    throw new Refusal('wrong_journal', 'this worker writes another journal than the one this history belongs to');
  }
  const known = await engine.journal.plan(plan.runId);
  if (known !== null && known.planDigest !== plan.planDigest) throw planConflict();
  const adopted = await adopt(engine, request, plan, found.journal_id, known !== null);
  found.steps = adopted.steps;
  const last = adopted.head;
  if (last !== undefined) found.head = headOf(last);
  if (!adopted.complete) return { ...found, status: 'stopped', epoch: request.epoch, replayed: true };
  if (last !== undefined && isTerminalPhase(last.phase)) {
    return { ...found, ...(await doneAt(engine, plan, adopted.lineage, last)), replayed: true };
  }
  if (request.intent === 'follow') return { ...found, status: 'fenced' };
  const targets = await loadTargets(engine, plan, request);
  if (request.intent === 'preview') {
    return { ...found, ...(await preview(engine, caller, plan, last ?? openingCheckpoint(plan), targets)) };
  }

  const { lineage } = adopted;
  const claim = { held: request.epoch, reclaim: request.reclaim };
  const there = { planned: known !== null, head: last };
  const { held, head, owed } = await begin(engine, caller, plan, lineage, claim, there);
  if (held === null) return { ...found, status: 'fenced' };
  const { journal_id: journalId } = found;
  const rounds = new Rounds(engine, caller, request, { plan, journalId, targets, held, head, owed, adopted });
  const { ledger } = rounds;
  let ended: DriveStatus;
  try {
    if (held.turn === 'take_over' || request.intent === 'cancel') {
      await ledger.settle();
      await closeSlots(engine, plan.runId, held, head, lineage);
    }
    ended = await rounds.run();
  } finally {
    // Once it is there, a refusal is a question to a person: somebody, perhaps we, may have sent something.
    if (ledger.begun) found.head = headOf(head);
  }
  const { answers } = rounds;
  const status = ended.status === 'done' ? await doneAt(engine, plan, ledger.lineage, ledger.head) : ended;
  await engine.at?.('returning');
  const epoch = status.status === 'fenced' || ledger.lost ? null : held.epoch;
  const steps = [...found.steps, ...ledger.steps.map(witnessToRecord)];
  const receipts = answers.length === 0 ? {} : { receipts: answers };
  return { ...found, ...status, ...receipts, epoch, steps, head: headOf(ledger.head) };
}

async function doneAt(
  engine: Engine,
  plan: GovernedPlan,
  lineage: number,
  head: RecoveryCheckpoint,
): Promise<Extract<DriveStatus, { status: 'done' }>> {
  const results = await recall(engine, plan, head);
  const reason = await reasonGiven(engine, head, lineage);
  return { status: 'done', results, ...(reason === null ? {} : { reason_given: reason }) };
}

/** While there is no chain, a refusal means that nothing happened; later it is a question to a person. */
function turnedDown(request: DriveRequest, found: Found, { code, message }: Refused): DriveStatus {
  const begun = (request.expected_head ?? request.known_head ?? found.head) !== null;
  return begun && isParkable(code) ? { status: 'parked', reason: code, message } : { status: 'refused', code, message };
}

function headOf(checkpoint: RecoveryCheckpoint): { sequence: number; digest: string } {
  return { sequence: Number(checkpoint.sequence), digest: checkpoint.checkpointDigest };
}

/** Anyone in the namespace can call an activity; only the plan's own workflow, or the queue of its tool, may drive it. */
function refuseStranger(plan: GovernedPlan, request: DriveRequest, caller: Caller): void {
  if (plan.runId !== request.run_id) {
    throw new Refusal('not_the_plans_workflow', 'the request names another run than its plan', 'run_id');
  }
  if (request.intent === 'preview') return;
  const { workflowId } = caller;
  if (workflowId !== null) {
    if (workflowId === carrierWorkflowId(plan.runId)) return;
    if (plan.origin !== null && workflowIdDigest(workflowId) === plan.origin) return;
    if (request.intent === 'drive' && workflowId === queueOf(plan)) return;
  }
  throw new Refusal(
    'not_the_plans_workflow',
    `only the workflow ${carrierWorkflowId(plan.runId)}, the plan's own origin, or the queue of its tool may drive this run`,
  );
}

/** A history comes to a later lineage only from the first. */
function refuseLineage({ lineage, expected_head: expected }: DriveRequest): void {
  if (Number.isSafeInteger(lineage) && lineage >= 1 && (lineage === 1 || expected !== null)) return;
  throw new Refusal('invalid_record', 'must be 1 until a head is known, and 1 or more then', 'lineage');
}

async function loadTargets(
  engine: Engine,
  plan: GovernedPlan,
  { call_id: callId }: DriveRequest,
): Promise<readonly Target[]> {
  engine.registry.check(plan);
  const records = effectRecords(plan);
  const demand = await lastDemand(engine.journal, plan);
  return Promise.all(
    plan.effects.map(async (effect, ordinal) => ({
      ordinal,
      definition: engine.registry.get(effect.toolId),
      ...(demand === null ? {} : { demand }),
      item: {
        toolId: effect.toolId,
        actionId: effect.actionId,
        idempotencyKey: records[ordinal]?.idempotencyKey ?? '',
        operationDigest: effect.operationDigest,
        operation: await engine.contents.operation(effect.operationDigest),
        ...(callId === undefined ? {} : { callId }),
      },
    })),
  );
}

async function preview(
  engine: Engine,
  caller: Caller,
  plan: GovernedPlan,
  head: RecoveryCheckpoint,
  targets: readonly Target[],
): Promise<DriveStatus> {
  const known = await observeAll(engine, caller, plan.runId, null, head, targets, { waited: [], intent: 'preview' });
  return {
    status: 'previewed',
    effects: known.map((effect) => {
      const found = proven(effect);
      const proof = found !== null && 'proof' in found ? found.proof : null;
      const { actionId, toolId } = effect.target.item;
      return { action_id: actionId, tool_id: toolId, state: effect.verdict.state, proof };
    }),
  };
}

interface Refused {
  readonly code: Refusal['code'];
  readonly message: string;
}

/** A journal that fails the recovery contract is refused like everything else; any other fault is not a refusal. */
function refusalOf(fault: unknown): Refused | null {
  if (fault instanceof Refusal) return { code: fault.code, message: fault.message };
  if (!(fault instanceof RecoveryError)) return null;
  return { code: 'journal_invalid', message: `journal_invalid: the journal of this run is refused: ${fault.message}` };
}
