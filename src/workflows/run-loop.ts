/**
 * How a workflow carries one verification run. Invariant: what is next follows from the records that it was told about, which it judges
 * again; it only waits, hands jobs off and asks to go on, and every wait has a durable end or a person who was asked.
 */
import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowFailure,
  condition,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  sleep,
  startChild,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ADVANCE_ACTIVITY,
  type AdvanceRequest,
  type AdvanceResult,
  type RunAct,
  type VerificationActivities,
} from '../activities/verification-contract';
import type { Dict } from '../rules/fields';
import { jobWorkflowId, orderToRecord } from '../rules/launches/job-order';
import { orderOfJob } from '../rules/launches/job-of-run';
import { keysFromRecord } from '../rules/receipts/jwks';
import { AUTHORIZATION_MS, admitLaunch } from '../rules/receipts/launch-receipt';
import { Refusal, type RefusalCode } from '../rules/refusal';
import { launchOf, type PlannedJob } from '../rules/verification/chain';
import { DISPATCH_TRIES } from '../rules/verification/job';
import { DISPATCH_PAUSE_MS, PROJECTION_LEASE_MS } from '../rules/verification/job-timers';
import { lifecycleFromBytes } from '../rules/verification/lifecycle-record';
import { RunBook } from '../rules/verification/run-book';
import type { authorizedJob } from './authorized-job';
import type { AuthorizedJobInput } from './job-messages';
import type { RunObligations, RunPhase, VerificationRunInput } from './run-messages';
import { detailsOf, statusOf } from './run-status';

const RUNNING_DEADLINE_MS = 600_000;
const FIRST_WATCH_MS = 500;
const LONGEST_WATCH_MS = 30_000;

/** The job whose receipt is waited for. */
export interface Wanted {
  readonly planned: PlannedJob;
  readonly contextDigest: string;
  /** Unix milliseconds, exclusive. */
  readonly until: number;
}

export class RunLoop {
  book: RunBook | null = null;
  phase: RunPhase = 'advancing';
  wanted: Wanted | null = null;
  message: string | null = null;
  replayed = false;
  obligations: RunObligations = { read_at: null, obligations: [] };
  private keys: readonly Dict[] | null = null;
  private roles: readonly string[] | null = null;
  journalId: string | null;
  private cancelled = false;
  private asked = 0;
  private carrying: CancellationScope | null = null;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(readonly input: VerificationRunInput) {
    this.journalId = input.journal_id ?? null;
  }

  get isOpened(): boolean {
    return this.book?.opened != null;
  }

  get isClosed(): boolean {
    return this.book !== null && this.book.outcome !== null;
  }

  async run(): Promise<void> {
    for (;;) {
      const { more } = await this.advance({ does: 'go_on' });
      const step = this.book?.next() ?? null;
      if (step === null) return this.tell('closed');
      if (more) continue;
      if (step.does !== 'hand_off' && step.does !== 'wait') throw diverged('the records do not follow from each other');
      if (this.book?.receipts.has(step.job.jobId)) await this.carry(step.job);
      else await this.waitForReceipt(step.job);
    }
  }

  /** One at a time: what each is told, the next builds on. */
  advance(act: RunAct): Promise<AdvanceResult> {
    const turn = this.turn.then(() => this.ask(act));
    this.turn = turn.catch(() => undefined);
    return turn;
  }

  /** Throws what the journal refuses. */
  async act(act: RunAct): Promise<AdvanceResult> {
    const result = await this.advance(act);
    if (result.refused !== null) throw refused(result.refused.code, result.refused.message);
    return result;
  }

  async refresh(): Promise<void> {
    await this.advance({ does: 'go_on' });
    this.asked += 1;
  }

  cancel(): void {
    this.cancelled = true;
    this.asked += 1;
    this.carrying?.cancel();
  }

  /** For a validator: throws what is wrong with a receipt, and changes nothing. */
  check(token: unknown): void {
    const { wanted, book, journalId, keys } = this;
    if (wanted === null || book === null || journalId === null) {
      if (typeof token === 'string' && [...(book?.receipts.values() ?? [])].some((one) => one.token === token)) return;
      throw refused('receipt_not_wanted', 'no receipt is waited for here; look at the status of the run');
    }
    if (keys === null) throw refused('reviewers_unavailable', 'the reviewers’ keys could not be had; refresh the run');
    const now = Date.now();
    if (now >= wanted.until) throw refused('receipt_expired', 'the job has waited too long for a receipt');
    const { run, person } = book.must;
    const admission = admitLaunch(token, {
      now,
      keys: keysFromRecord(keys),
      journalId,
      launch: launchOf(run, wanted.planned, wanted.contextDigest),
      authorizer: person,
      held: null,
      ...(this.roles === null ? {} : { roles: this.roles }),
    });
    if (!admission.ok) throw refused(admission.refusal.code, admission.refusal.message);
  }

  async authorize(token: string): Promise<void> {
    const { wanted } = this;
    if (wanted === null) return;
    await this.act({ does: 'authorize', job_id: wanted.planned.jobId, token });
    this.asked += 1;
  }

  private async waitForReceipt(planned: PlannedJob): Promise<void> {
    const { jobId } = planned;
    const contextDigest = this.book?.jobs.get(jobId)?.contextDigest ?? '';
    const { authorization_ms: authorizationMs = AUTHORIZATION_MS } = this.input;
    if (this.wanted?.planned.jobId !== jobId) {
      this.wanted = { planned, contextDigest, until: Date.now() + authorizationMs };
    }
    this.tell('waiting_for_receipt');
    const seen = this.asked;
    const held = (): boolean => this.book?.receipts.has(jobId) === true;
    const left = Math.max(0, this.wanted.until - Date.now());
    const woken = this.cancelled || held() || (await condition(() => this.asked > seen || held(), left));
    if (!held() && (this.cancelled || !woken)) {
      await this.advance({ does: 'end', job_id: jobId, why: this.cancelled ? 'given_up' : 'expired' });
    }
    if (this.book?.next()?.does !== 'hand_off' || held()) this.wanted = null;
    this.tell('advancing');
  }

  /** Until the job has come to something, or nobody can be found to carry it. */
  private async carry(planned: PlannedJob): Promise<void> {
    const { jobId } = planned;
    this.wanted = null;
    this.tell('launched');
    let failures = 0;
    for (let pauseMs = FIRST_WATCH_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_WATCH_MS)) {
      // One that was started before a reset of this workflow is still at work, and the journal will say what came of it.
      const isOurs = await this.child(planned);
      if (!isOurs) await sleep(pauseMs);
      await this.advance({ does: 'go_on' });
      if (!this.isOut(jobId)) return;
      if (!isOurs) continue;
      failures += 1;
      if (failures >= DISPATCH_TRIES) return void (await this.advance({ does: 'end', job_id: jobId, why: 'given_up' }));
      await sleep(DISPATCH_PAUSE_MS);
    }
  }

  /** Whether the job still waits for its launch, or for its worker. */
  private isOut(jobId: string): boolean {
    const step = this.book?.next();
    return (step?.does === 'hand_off' || step?.does === 'wait') && step.job.jobId === jobId;
  }

  /** Whether this very workflow had it carried, to whatever end. */
  private async child(planned: PlannedJob): Promise<boolean> {
    const scope = new CancellationScope({ cancellable: true });
    this.carrying = scope;
    try {
      await scope.run(async () => {
        const child = await startChild<typeof authorizedJob>('authorizedJob', {
          workflowId: jobWorkflowId(planned.jobId),
          args: [this.jobInput(planned)],
          parentClosePolicy: 'ABANDON',
          cancellationType: 'WAIT_CANCELLATION_COMPLETED',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          staticSummary: `${planned.role}: ${planned.executor.provider} ${planned.executor.model}`.slice(0, 200),
        });
        if (this.cancelled) scope.cancel();
        await child.result();
      });
      return true;
    } catch (fault) {
      if (fault instanceof WorkflowExecutionAlreadyStartedError) return false;
      if (fault instanceof ChildWorkflowFailure || isCancellation(fault)) return true;
      throw fault;
    } finally {
      this.carrying = null;
    }
  }

  private jobInput(planned: PlannedJob): AuthorizedJobInput {
    const { book, input, journalId } = this;
    const contextDigest = book?.jobs.get(planned.jobId)?.contextDigest ?? '';
    const { launch_lease_ms, task_queue, running_deadline_ms = RUNNING_DEADLINE_MS } = input;
    return {
      order: orderToRecord(orderOfJob((book as RunBook).must.run, planned, contextDigest)),
      ...(journalId === null ? {} : { journal_id: journalId }),
      receipt: book?.receipts.get(planned.jobId)?.token ?? '',
      running_deadline_ms,
      projected_by_run: true,
      ...(launch_lease_ms === undefined ? {} : { launch_lease_ms }),
      ...(task_queue === undefined ? {} : { task_queue }),
    };
  }

  private async ask(act: RunAct): Promise<AdvanceResult> {
    const { task_queue: taskQueue } = this.input;
    const activities = proxyActivities<VerificationActivities>({
      startToCloseTimeout: PROJECTION_LEASE_MS,
      heartbeatTimeout: '10 seconds',
      retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
      summary: act.does === 'go_on' ? 'advance' : act.does,
      ...(taskQueue === undefined ? {} : { taskQueue }),
    });
    const result = await CancellationScope.nonCancellable(() => activities[ADVANCE_ACTIVITY](this.request(act)));
    this.hear(result);
    return result;
  }

  private request(act: RunAct): AdvanceRequest {
    const { run_id, run, person = '', captured_at = 0 } = this.input;
    return {
      run_id,
      journal_id: this.journalId,
      // Once it is opened, its records say what it is.
      opening: run === undefined || this.isOpened ? null : { run, person, captured_at },
      known: this.book?.head ?? null,
      act,
    };
  }

  /** Takes what the journal says, where it follows from what it said before. */
  private hear(result: AdvanceResult): void {
    this.journalId ??= result.journal_id;
    const first = this.book === null;
    this.book ??= new RunBook(this.input.run_id, this.journalId);
    for (const line of result.records) this.book.accept(lifecycleFromBytes(line));
    if (first) this.replayed = result.replayed;
    this.keys = result.keys ?? this.keys;
    this.roles = result.roles;
    this.message = result.refused?.message ?? null;
    if (result.obligations !== null) this.obligations = { read_at: Date.now(), obligations: result.obligations };
  }

  private tell(phase: RunPhase): void {
    this.phase = phase;
    setCurrentDetails(detailsOf(statusOf(this)));
  }
}

export function refused(code: RefusalCode, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, code);
}

function diverged(reason: string): Refusal {
  return new Refusal('chain_divergence', reason, 'run');
}
