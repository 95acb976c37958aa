/**
 * How a workflow carries one authorized launch: hand off, launch once, wait for the worker, end. Invariant: the launch activity
 * runs again only where it is proven that it launched nothing; what the job came to is what the journal holds, and every state
 * has a durable timer that leads out of it.
 */
import { CancellationScope, condition, proxyActivities } from '@temporalio/workflow';
import {
  SETTLE_ACTIVITY,
  type JobFacts,
  type LaunchActivities,
  type LaunchResult,
  type SettleRequest,
  type SettleResult,
  type Stored,
} from '../activities/launch-contract';
import type { Dict } from '../rules/fields';
import type { JobOrder } from '../rules/launches/job-order';
import { NOT_LAUNCHED } from '../rules/launches/job-outcome';
import { decodeReceipt, launchClaimsOf } from '../rules/receipts/jws';
import { Refusal } from '../rules/refusal';
import { prepareJob, stepJob, type Job, type JobCommand, type JobSettings } from '../rules/verification/job';
import { ENDINGS, isOpen, isTerminal, type JobReason } from '../rules/verification/job-states';
import { DISPATCH_PAUSE_MS, LAUNCH_LEASE_MS, timerOf, type JobDurations } from '../rules/verification/job-timers';
import type { AuthorizedJobInput, JobStatus } from './job-messages';
import { launchOnce } from './launch-once';

const SETTLE = {
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '10 seconds' },
} as const;

export class JobLoop {
  job: Job;
  private journalId: string | null;
  private facts: JobFacts | null = null;
  /** What the last look at the journal found of the submission. */
  private stored: Stored = null;
  private message: string | null = null;
  /** This very execution launched it. */
  private ours = false;
  private cancelled = false;
  /** Questions that somebody else has asked, and how many of them the journal has answered. */
  private asked = 0;
  private answered = 0;
  /** When the job came into its state. */
  private since = Date.now();
  private readonly invalid: Refusal | null;

  constructor(
    private readonly order: JobOrder,
    private readonly record: Dict,
    private readonly input: AuthorizedJobInput,
  ) {
    const authorized = readExpiry(input.receipt);
    this.invalid = authorized instanceof Refusal ? authorized : null;
    this.job = prepareJob(order.jobId, order.contextDigest, authorized instanceof Refusal ? 0 : authorized);
    this.journalId = input.journal_id ?? null;
  }

  /** Takes what the journal says, once. */
  async look(): Promise<void> {
    await this.hear((await this.settle({ does: 'look' })).facts);
  }

  /** To its submission, or to its end without one. */
  async run(): Promise<void> {
    await CancellationScope.nonCancellable(async () => {
      await this.handOff();
      while (isOpen(this.job.state)) await this.watch();
    });
  }

  /** Of a submission that leads to nothing else: it is taken as it is, where it is still what was submitted. */
  complete(): void {
    if (this.job.state !== 'submitted') return;
    const owner = this.order.jobId;
    this.step({ does: 'lease', owner });
    const digest = this.stored === 'intact' ? (this.job.submission ?? '') : '';
    this.step({ does: 'project', owner, digest, next: null });
  }

  /** Nothing more is launched; what was launched is waited for. */
  cancel(): void {
    this.cancelled = true;
    this.asked += 1;
  }

  /** Something may stand in the journal. Answers once it was read, at or after this moment. */
  async lookAgain(): Promise<void> {
    this.asked += 1;
    const mine = this.asked;
    await condition(() => this.answered >= mine || !isOpen(this.job.state));
  }

  status(): JobStatus {
    const { job, facts } = this;
    return {
      run_id: this.order.runId,
      job_id: job.jobId,
      journal_id: this.journalId,
      state: job.state,
      reason: job.reason,
      refusal: job.refusal,
      message: this.message,
      launched: facts === null ? (isTerminal(job.state) ? 'unknown' : 'no') : launchedBy(facts),
      submission: job.submission,
      expires_at: job.expiresAt,
      replayed: !this.ours && facts !== null && facts.slot === 'begun',
    };
  }

  private get durations(): JobDurations {
    const { launch_lease_ms: launchLeaseMs = LAUNCH_LEASE_MS, running_deadline_ms: runningDeadlineMs } = this.input;
    return { launchLeaseMs, runningDeadlineMs };
  }

  private async handOff(): Promise<void> {
    if (this.invalid !== null) {
      this.message = this.invalid.message;
      return this.apply({ does: 'refuse_receipt' });
    }
    const { handed_off: before } = this.input;
    if (before !== undefined) this.since -= before.ms_ago;
    if (before?.launched === 'unknown') return this.close();
    if (before !== undefined && (await this.isOver())) return this.close();
    for (;;) {
      if (this.cancelled) return this.close();
      await this.apply({ does: 'hand_off', now: Date.now() });
      if (this.job.state !== 'prepared') return;
      this.since = Date.now();
      const result = await this.launch();
      if (result === 'unknown') return this.close();
      if (result !== 'not_dispatched') {
        this.journalId ??= result.journal_id;
        if (result.status === 'claimed' || result.status === 'taken') {
          this.ours = result.status === 'claimed';
          this.stored = result.stored;
          return this.hear(result.facts);
        }
        this.message = result.message;
        if (result.status === 'turned_down') return this.apply(TURNED_DOWN[result.reason](this.job));
      }
      if (await this.isOver()) return this.close();
    }
  }

  /** After a hand-off that launched nothing: whether there was the last one, or else the pause before another. */
  private async isOver(): Promise<boolean> {
    const { job } = stepJob(this.job, { does: 'hand_off_failed' });
    if (isTerminal(job.state)) return true;
    this.job = job;
    await this.rest(DISPATCH_PAUSE_MS);
    return false;
  }

  /** An execution that did not come back may still be about to claim: only a slot that nobody can take any more ends that. */
  private async close(): Promise<void> {
    const { facts, refused } = await this.settle({ does: 'close' });
    // Nothing is launched on a receipt that is none; whoever has one still may.
    if (refused !== undefined && facts.slot === 'none' && facts.outcome === null) {
      return this.end('authorization_invalid', null);
    }
    await this.hear(facts);
  }

  private launch(): ReturnType<typeof launchOnce> {
    const { launchLeaseMs = LAUNCH_LEASE_MS } = this.durations;
    return launchOnce(
      {
        order: this.record,
        ...(this.input.call === undefined ? {} : { call: this.input.call }),
        journal_id: this.journalId,
        receipt: this.input.receipt,
        lease_ms: launchLeaseMs,
      },
      { provider: this.order.provider, expiresAt: this.job.expiresAt, taskQueue: this.input.task_queue },
    );
  }

  private get queue(): { readonly taskQueue?: string } {
    const { task_queue: taskQueue } = this.input;
    return taskQueue === undefined ? {} : { taskQueue };
  }

  /** Waits for the worker, for as long as its state may last. */
  private async watch(): Promise<void> {
    const { state } = this.job;
    const timer = timerOf(this.job, this.durations, Date.now());
    if (timer === null) return;
    const passed = state === 'prepared' ? 0 : Date.now() - this.since;
    await this.rest(Math.max(0, timer.ms - passed));
    const upTo = this.asked;
    await this.look();
    const over = this.answered === upTo && this.job.state === state;
    this.answered = upTo;
    if (over) await this.apply(timer.then(Date.now()));
  }

  private async rest(ms: number): Promise<void> {
    await condition(() => this.asked > this.answered, ms);
    if (this.job.state === 'prepared') this.answered = this.asked;
  }

  /** Takes what the journal says. */
  private async hear(facts: JobFacts): Promise<void> {
    this.facts = facts;
    const { owner, outcome } = facts;
    if (facts.slot === 'begun' && owner !== null) {
      // By the clock of the one who claimed, which found the authorization in time.
      const now = Math.min(facts.taken_at ?? 0, this.job.expiresAt - 1);
      this.step({ does: 'claim', owner, now });
      if (facts.end === 'acked' || outcome?.outcome === 'submitted') this.step({ does: 'started', owner });
    }
    if (outcome?.outcome === 'submitted') {
      return this.step({ does: 'submit', digest: outcome.submission, now: this.job.expiresAt - 1 });
    }
    if (outcome !== null) return this.end(outcome.reason, outcome.refusal);
    if (facts.slot === 'closed') return this.apply({ does: 'hand_off_failed' }, { tries: 1 });
    if (owner === null || facts.end === null || facts.end === 'acked') return;
    return this.apply({ does: 'refuse_launch', owner, code: facts.code ?? NOT_LAUNCHED });
  }

  private step(command: JobCommand): void {
    const { state } = this.job;
    this.job = stepJob(this.job, command).job;
    // A launch has its lease from the hand-off on, whenever its claim is heard of.
    if (this.job.state !== state && this.job.state !== 'launching') this.since = Date.now();
  }

  /** As `step`, but an end counts once the journal holds it; where it holds another outcome already, that one counts. */
  private async apply(command: JobCommand, settings: JobSettings = {}): Promise<void> {
    const { job } = stepJob(this.job, command, settings);
    if (!isTerminal(job.state) || job.reason === null || !isEnd(job.reason)) {
      this.job = job;
      return;
    }
    const { facts, refused } = await this.settle({ does: 'end', reason: job.reason, refusal: job.refusal });
    if (refused === undefined || facts.outcome !== null) return this.hear(facts);
    // The journal does not end for whoever has no receipt, but this workflow does.
    const begun = facts.slot === 'begun' && ENDINGS[job.reason].from.includes('prepared');
    this.end(begun ? 'launch_outcome_unknown' : job.reason, begun ? null : job.refusal);
  }

  private end(reason: JobReason, refusal: string | null): void {
    this.job = { ...this.job, state: ENDINGS[reason].to, reason, refusal, lease: null };
  }

  private async settle(does: SettleRequest['does']): Promise<SettleResult> {
    const activities = proxyActivities<LaunchActivities>({ ...SETTLE, summary: does.does, ...this.queue });
    const request = { order: this.record, journal_id: this.journalId, receipt: this.input.receipt, does };
    const result = await activities[SETTLE_ACTIVITY](request);
    this.message = result.refused ?? this.message;
    this.journalId ??= result.journal_id;
    this.facts = result.facts;
    this.stored = result.stored;
    return result;
  }
}

type TurnedDown = Extract<LaunchResult, { status: 'turned_down' }>['reason'];
const TURNED_DOWN: Record<TurnedDown, (job: Job) => JobCommand> = {
  authorization_expired: ({ expiresAt }) => ({ does: 'expire', now: expiresAt }),
  authorization_invalid: () => ({ does: 'refuse_receipt' }),
  context_integrity_failed: ({ expiresAt }) => ({ does: 'fetch', now: expiresAt - 1, contextDigest: '' }),
};

type EndReason = Extract<SettleRequest['does'], { does: 'end' }>['reason'];

function isEnd(reason: JobReason): reason is EndReason {
  return !ENDINGS[reason].from.includes('submitted');
}

/** Unix milliseconds; a Refusal where it is no launch receipt. */
export function readExpiry(receipt: string): number | Refusal {
  try {
    return launchClaimsOf(decodeReceipt(receipt)).exp * 1000;
  } catch (fault) {
    if (fault instanceof Refusal) return fault;
    throw fault;
  }
}

export function launchedBy({ slot, end, outcome }: JobFacts): JobStatus['launched'] {
  if (outcome?.outcome === 'submitted' || end === 'acked') return 'yes';
  return slot === 'begun' && end === null ? 'unknown' : 'no';
}
