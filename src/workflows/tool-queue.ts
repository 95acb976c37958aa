/**
 * `toolQueue`: a Temporal workflow that keeps the calls of one tool in order and hands them to its workers. Invariant: what happens is
 * decided by `rules/invocations/queue`; what a worker holds is released by the end of its own execution, so there is nothing that
 * could be forgotten, and a queue that is lost is rebuilt by those whose calls it had.
 */
import {
  ActivityFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  getExternalWorkflowHandle,
  log,
  makeContinueAsNewFunc,
  patched,
  proxyActivities,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { DRIVE_ACTIVITY, type CountersignActivities, type DriveResult } from '../activities/contract';
import { DESCRIBE_WORKERS_ACTIVITY, type ToolActivities } from '../activities/tool-contract';
import type { Dict } from '../rules/fields';
import { DEFAULT_VERSION, toolTaskQueue, type Tool } from '../rules/invocations/names';
import { stepQueue } from '../rules/invocations/queue';
import {
  FIRST_HOLD_MS,
  capacityOf,
  compareCalls,
  nextWakeAt,
  openQueue,
  type QueueChange,
  type QueueEffect,
  type QueueEvent,
  type QueueReport,
  type QueueRequest,
  type QueueState,
  type RunningCall,
} from '../rules/invocations/queue-state';
import { queueFromRecord, queueToRecord } from '../rules/invocations/queue-snapshot';
import { RecoveryError } from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import {
  enqueueSignal,
  queueQuery,
  registerSignal,
  reportSignal,
  withdrawSignal,
  type CallReport,
  type QueueStatus,
  type ToolQueueInput,
} from './queue-messages';
import {
  addressOf,
  carriedBy,
  driveRequest,
  presenceOf,
  refusalMessage,
  reportMessage,
  requestOf,
  withdrawalOf,
} from './queue-wire';
import { endOf, lossOf, wasNotTaken } from './queue-ends';
import { queueDetails } from './queue-story';

/** A worker that is there takes a call at once. One that stays untaken for so long shows that somebody is gone. */
const TAKE_MS = 3_000;
/** How a history says that its queue does what queues at first did not. */
const MARKS: Readonly<Record<QueueChange | 'alive_shortens', string>> = {
  alive_shortens: 'queue-alive-shortens-hold',
  heeds_lists: 'queue-heeds-lists',
  answers_rivals: 'queue-answers-rivals',
};
/** Of a drive beside the tool's own time: looking up, appending, and hearing of it. */
const SLACK_MS = 30_000;
/** Events after which a queue with nothing running continues as new, and after which it stops handing out so that it can. */
const RENEW_WHEN_IDLE = 4_000;
const RENEW_ANYHOW = 20_000;
const RENEW_AT_BYTES = 20 * 1024 * 1024;

const DESCRIBE = {
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '30 seconds',
  retry: { maximumAttempts: 3 },
  summary: 'who is there to take calls',
} as const;

export async function toolQueue(input: ToolQueueInput): Promise<void> {
  const queue = new ToolQueue(input);
  setHandler(enqueueSignal, (...messages) => messages.forEach((message) => queue.enqueue(message)), {
    description: 'Calls are to be sent.',
  });
  setHandler(withdrawSignal, (message) => void queue.read(() => queue.apply(withdrawalOf(message))), {
    description: 'A call is not wanted any more.',
  });
  setHandler(registerSignal, (message) => void queue.read(() => queue.apply(presenceOf(message))), {
    description: 'A worker begins or ends.',
  });
  setHandler(queueQuery, () => queue.status(), { description: 'Who waits, who runs, and which workers there are.' });
  let cancelled = false;
  CancellationScope.current().cancelRequested.catch(() => {
    cancelled = true;
    queue.drain();
  });
  queue.apply({ type: 'tick' });
  await CancellationScope.nonCancellable(() => condition(() => queue.isQuiet && (cancelled || queue.wantsRenewal)));
  // What waits is asked for again by those who wait for it.
  if (cancelled) throw new CancelledFailure('the queue was cancelled; the next call or worker starts it again');
  await makeContinueAsNewFunc<typeof toolQueue>()(queue.carried);
}

class ToolQueue {
  private readonly tool: Tool;
  private state: QueueState;
  private reported: number;
  /** What `drive` answered about calls that are on their way out, and who was to hear of it. */
  private readonly answers = new Map<string, Answer>();
  /** Reports on their way. */
  private telling = 0;
  /** What this task has brought and is not let in yet. */
  private arrived: QueueRequest[] = [];
  private showing = false;
  /** Which changes hold in this run, as far as it was asked. */
  private readonly changes = new Map<keyof typeof MARKS, boolean>();
  /** When the timer that runs will ring, unix milliseconds. */
  private rings = Number.POSITIVE_INFINITY;

  constructor(private readonly input: ToolQueueInput) {
    const { tool, version, carried } = input;
    this.tool = { tool, version: version === DEFAULT_VERSION ? null : version };
    this.state = carried === undefined ? openQueue(Date.now()) : reopened(carried.state);
    this.reported = carried?.reported ?? 0;
  }

  /** Nothing is on its way that this run would have to hear of. */
  get isQuiet(): boolean {
    const { running, asking } = this.state;
    return running.length === 0 && !asking && this.telling === 0 && this.arrived.length === 0;
  }

  get wantsRenewal(): boolean {
    return workflowInfo().historyLength >= (this.input.renew_when_idle ?? RENEW_WHEN_IDLE) || this.state.draining;
  }

  get carried(): ToolQueueInput {
    const { state, reported, input } = this;
    const renewals = (input.carried?.renewals ?? 0) + 1;
    return { ...input, carried: { state: queueToRecord(state), reported, renewals } };
  }

  status(): QueueStatus {
    const { state, input, reported } = this;
    return {
      tool: input.tool,
      version: input.version,
      capacity: capacityOf(state),
      waiting: state.waiting.map((call) => call.callId),
      running: state.running.map((call) => call.callId),
      workers: state.workers.map(({ descriptorHash, ...worker }) => ({ ...worker, descriptor_hash: descriptorHash })),
      ever_registered: state.everRegistered,
      reported,
      renewals: input.carried?.renewals ?? 0,
    };
  }

  enqueue(message: unknown): void {
    const refused = this.read(() => void this.arrived.push(requestOf(message, this.tool)));
    if (this.arrived.length === 1) void Promise.resolve().then(() => this.letIn());
    const asked = refused === null ? null : addressOf(message);
    if (refused === null || asked === null) return;
    void this.tell(asked.replyTo, refusalMessage(asked, refused.code, Date.now()));
  }

  /** Those that come together are let in together: the first asked for is the first handed out, however their messages arrived. */
  private letIn(): void {
    const calls = [...this.arrived].sort(compareCalls);
    this.arrived = [];
    for (const call of calls) this.apply({ type: 'enqueue', call });
  }

  /** A message that cannot be read changes nothing; why, is answered. */
  read(take: () => void): Refusal | null {
    try {
      take();
      return null;
    } catch (fault) {
      const refused = fault instanceof RecoveryError ? new Refusal('invalid_arguments', fault.message) : fault;
      if (!(refused instanceof Refusal)) throw fault;
      log.warn('countersign: a queue was sent what it cannot read', { code: refused.code, field: refused.field });
      return refused;
    }
  }

  drain(): void {
    this.apply({ type: 'drain' });
  }

  apply(event: QueueEvent): void {
    const { state, effects } = stepQueue(this.state, event, Date.now(), (change) => this.has(change));
    this.state = state;
    for (const effect of effects) this.perform(effect);
    const { historyLength, historySize } = workflowInfo();
    const full = historyLength >= (this.input.renew_anyhow ?? RENEW_ANYHOW) || historySize >= RENEW_AT_BYTES;
    if (full && !this.state.draining) this.drain();
    this.arm();
    this.show();
  }

  /** Once for all that one task brings. */
  private show(): void {
    if (this.showing) return;
    this.showing = true;
    void Promise.resolve().then(() => {
      this.showing = false;
      queueDetails(this.status());
    });
  }

  private perform(effect: QueueEffect): void {
    switch (effect.does) {
      case 'dispatch':
        return void this.drive(effect.call, effect.startWithinMs);
      case 'report': {
        const { report, again } = effect;
        const answer = again ? undefined : this.answers.get(report.callId);
        this.answers.delete(report.callId);
        if (!again) this.reported += 1;
        if (answer !== undefined && hasHeard(report, answer)) return;
        return void this.tell(report.replyTo, reportMessage(report, answer?.result ?? null));
      }
      case 'turn_away': {
        const { call, code } = effect;
        return void this.tell(call.replyTo, refusalMessage(call, code, Date.now()));
      }
      case 'describe':
        return void this.describe();
    }
  }

  private async drive(call: RunningCall, startWithinMs: number): Promise<void> {
    const { callId } = call;
    const { execution_ms: executionMs, lease_ms: leaseMs } = carriedBy(call);
    const activities = proxyActivities<CountersignActivities>({
      taskQueue: toolTaskQueue(this.tool),
      scheduleToStartTimeout: Math.max(1, Math.min(startWithinMs, TAKE_MS)),
      startToCloseTimeout: executionMs + SLACK_MS,
      heartbeatTimeout: leaseMs,
      retry: { maximumAttempts: 1 },
      summary: callId,
    });
    try {
      const result = await CancellationScope.nonCancellable(() => activities[DRIVE_ACTIVITY](driveRequest(call)));
      this.answers.set(callId, { result, call });
      const { identity: worker = null, took_at: takenAt = null } = result.worker ?? {};
      const { hold, holdMs } = this.state;
      const alive = (hold !== null || holdMs > FIRST_HOLD_MS) && worker !== null && this.has('alive_shortens');
      this.apply({ type: 'ended', callId, worker, takenAt, alive, ...endOf(result, call) });
    } catch (fault) {
      if (!(fault instanceof ActivityFailure)) throw fault;
      if (wasNotTaken(fault)) this.apply({ type: 'bounced', callId });
      else this.apply({ type: 'ended', callId, worker: null, takenAt: null, end: 'lost', code: lossOf(fault) });
    }
  }

  private async describe(): Promise<void> {
    const asked = this.state.workers;
    const activities = proxyActivities<ToolActivities>(DESCRIBE);
    let gone: readonly string[] = [];
    let alive = false;
    try {
      const { identities } = await CancellationScope.nonCancellable(() =>
        activities[DESCRIBE_WORKERS_ACTIVITY]({ task_queue: toolTaskQueue(this.tool), within_ms: TAKE_MS }),
      );
      // One that has come meanwhile could not be seen yet.
      const known = this.state.workers.filter((worker) => asked.some(({ instance }) => instance === worker.instance));
      gone = known.map(({ identity }) => identity).filter((identity) => !identities.includes(identity));
      alive = this.has('alive_shortens');
    } catch (fault) {
      if (!(fault instanceof ActivityFailure)) throw fault;
    }
    this.apply({ type: 'described', gone, alive });
  }

  /** Decided once a run, for a run that began without it goes on so. */
  private has(change: keyof typeof MARKS): boolean {
    const known = this.changes.get(change) ?? patched(MARKS[change]);
    this.changes.set(change, known);
    return known;
  }

  private async tell(workflowId: string, message: CallReport): Promise<void> {
    this.telling += 1;
    try {
      await CancellationScope.nonCancellable(() => told(workflowId, message));
    } finally {
      this.telling -= 1;
    }
  }

  /** One timer, moved only when something is due before it rings. */
  private arm(): void {
    const next = nextWakeAt(this.state);
    if (next === null || next >= this.rings) return;
    this.rings = next;
    const ring = async (): Promise<void> => {
      await CancellationScope.nonCancellable(() => sleep(Math.max(1, next - Date.now())));
      if (this.rings === next) this.rings = Number.POSITIVE_INFINITY;
      this.apply({ type: 'tick' });
    };
    void ring();
  }
}

interface Answer {
  readonly result: DriveResult;
  readonly call: RunningCall;
}

/** The worker has told whoever asked when the call was handed out; by now it may be wanted by another, or anew. */
function hasHeard({ replyTo, request }: QueueReport, { result, call }: Answer): boolean {
  return result.reported === true && call.replyTo === replyTo && call.request === request;
}

/** A queue is rebuilt from those whose calls it had: one that cannot be read is as good as lost, and no worse. */
function reopened(record: Dict): QueueState {
  try {
    return queueFromRecord(record);
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    log.warn('countersign: a queue could not be continued and begins anew', { field: fault.field });
    return openQueue(Date.now());
  }
}

/**
 * No local activity, although it would take fewer events: one that is under way while a workflow task times out lets the SDK take what
 * came next in another order than a replay does, and a queue must never get stuck. A workflow that is gone is not waiting for anything.
 */
async function told(workflowId: string, message: CallReport): Promise<void> {
  try {
    await getExternalWorkflowHandle(workflowId).signal(reportSignal, message);
  } catch {
    log.warn('countersign: nobody hears a report', { callId: message.call_id });
  }
}
