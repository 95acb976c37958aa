/**
 * `inspect`: what the journal says of one run, and what the execution says that carries it now. Invariant: reads and asks
 * only; each half is there without the other, and neither is presented as the other.
 */
import { WorkflowNotFoundError } from '@temporalio/client';
import { runKind, type RunKind } from '../../activities/run-kind';
import type { PlanHandle, PlanStatus } from '../../client';
import type { Store } from '../../ports';
import { RECOVERY_PHASES } from '../../rules/recovery';
import { actionPhaseAt, type ActionPhase } from '../../rules/recovery/action-phases';
import { Refusal } from '../../rules/refusal';
import { ADVICE } from '../advice';
import { PARKED_EXITS, PHASE_EXITS } from '../exit-codes';
import { CliError, failureOf, type Failure } from '../failure';
import { isParkReason, progress, statusOf } from '../follow';
import { jobRow, readJobs } from '../inspect-jobs';
import { readRun, type InspectedRun } from '../inspect-run';
import { counted, table, type Answer } from '../output';
import { namedRun } from '../plan-file';
import type { Context, Register } from '../command';
import { connect, type Service } from '../service';
import { journalStore, withOptions, type Settings } from '../settings';

interface InspectOptions extends Settings {
  readonly offline?: boolean;
}

export const inspectCommand: Register = (program, act) => {
  const command = program
    .command('inspect')
    .description('show phase, effects, slots, doubts and epochs of a run, and what its execution says')
    .argument('<run>', 'a run id, or the file of its draft or plan')
    .option('--offline', 'read the journal only; ask no server');
  withOptions(command, 'journal', 'taskQueue').action(act('inspect', inspect));
};

/** What launches came to, as the journal holds it; who carries them now says nothing else. */
async function inspectJobs(store: Store, runId: string, kind: RunKind): Promise<Answer> {
  const jobs = await readJobs(store, runId);
  const more = kind === 'verification' ? [`results and proposals: countersign verify-run inspect ${runId}`] : [];
  const lines = [
    `run ${runId}: ${kind}, ${counted(jobs.length, 'launch', 'launches')}`,
    ...table(jobs.map(jobRow)),
    ...more,
  ];
  return { data: { runId, kind, jobs }, lines };
}

interface Live {
  /** How Temporal lists the execution; null when it was not asked, or knows none. */
  readonly execution: string | null;
  /** Its own word. Null also of one that failed: its last word is older than its end. */
  readonly status: PlanStatus | null;
  readonly note: string;
}

async function inspect(_context: Context, run: string, options: InspectOptions): Promise<Answer> {
  const runId = namedRun(run).runId;
  const named = (options.journal ?? '') !== '';
  if (!named && options.offline === true) {
    throw new CliError('invalid_argument', 'without a journal and without a server there is nothing to ask', 'journal');
  }
  const kind = named ? await runKind(journalStore(options), runId) : null;
  if (kind === 'launch' || kind === 'verification') return inspectJobs(journalStore(options), runId, kind);
  const journal = named ? await readRun(journalStore(options), runId) : null;
  const live: Live = options.offline === true ? unasked('not asked') : await ask(runId, options);
  if (journal === null && live.execution === null) {
    const where = named
      ? `the journal does not hold it, and of an execution: ${live.note}`
      : `no journal is named, and of an execution: ${live.note}`;
    throw new Refusal('unknown_run', `was not found: ${where}`, runId);
  }
  const absent = named ? 'journal: does not hold this run' : 'journal: not named (--journal, COUNTERSIGN_JOURNAL)';
  const lines = [...(journal === null ? [absent] : journalLines(journal))];
  lines.push(
    live.status === null ? `execution: ${live.note}` : `execution:${progress(live.status).replace(/^ +/, ' ')}`,
  );
  const actionPhase = phaseOf(journal, live);
  lines.push(`action: ${actionPhase}`);
  const data = { runId, actionPhase, journal, execution: live.execution, live: live.status, liveNote: live.note };
  const failure = needsPerson(live.status);
  if (failure !== null) return { data, lines, failure };
  return { data, lines, exit: journal?.phase == null ? 'done' : PHASE_EXITS[journal.phase] };
}

/** An execution that answers knows best whether a person is waited for. */
function phaseOf(journal: InspectedRun | null, { execution, status }: Live): ActionPhase {
  const checkpoint = journal?.phase ?? RECOVERY_PHASES.find((phase) => phase === status?.phase) ?? null;
  return actionPhaseAt({ checkpoint, carried: execution === 'running', waits: status?.state === 'parked' });
}

async function ask(runId: string, options: InspectOptions): Promise<Live> {
  try {
    const service = await connect({ taskQueue: options.taskQueue });
    try {
      return await asked(service, service.plans.getHandle(runId));
    } finally {
      await service.close();
    }
  } catch (fault) {
    const none = fault instanceof WorkflowNotFoundError;
    return unasked(none ? 'the Temporal server knows none' : failureOf(fault).message);
  }
}

async function asked(service: Service, handle: PlanHandle): Promise<Live> {
  const { status: listed } = await service.soon(() => handle.workflow.describe());
  const execution = listed.name.toLowerCase();
  if (execution !== 'running' && execution !== 'completed') {
    const note = `${execution.replace('_', ' ')}; "countersign run" with its plan tells why, or takes it up again`;
    return { execution, status: null, note };
  }
  const status = await statusOf(service, handle);
  return { execution, status, note: status === null ? `${execution}, but no worker answers for it` : 'answered' };
}

function unasked(note: string): Live {
  return { execution: null, status: null, note };
}

function needsPerson(status: PlanStatus | null): Failure | null {
  if (status === null || status.state !== 'parked' || !isParkReason(status.reason)) return null;
  const { reason } = status;
  return { code: reason, message: `the plan waits: ${ADVICE[reason]}`, field: null, exit: PARKED_EXITS[reason] };
}

function journalLines(run: InspectedRun): readonly string[] {
  const head = run.head === null ? 'no checkpoint yet' : `head ${run.head.sequence} ${run.head.digest}`;
  const rows = run.effects.map((effect) => [
    String(effect.ordinal),
    effect.toolId,
    effect.state,
    `slots ${effect.slots.begun} begun, ${effect.slots.closed} closed, ${effect.slots.open} open`,
    effect.doubt === null ? '' : `doubt: ${effect.doubt}, at its sink under ${effect.idempotencyKey}`,
  ]);
  return [
    `run ${run.runId} of ${run.workflowId}: ${run.phase ?? 'not begun'}, ` +
      `lineage ${run.lineage}, ${counted(run.epochs, 'epoch')}`,
    `requester: ${run.requester}`,
    head,
    ...table(rows),
  ];
}
