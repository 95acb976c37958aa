/**
 * What is to be recorded next in a run. Invariant: one event at a time, which follows from the records, the files of its jobs and the
 * stored contents; whoever asks again after a crash is told the same, so nothing is done twice and nothing is left out.
 */
import type { CheckAnswer } from '../ports';
import { successorOf, type PlannedJob } from '../rules/verification/chain';
import { checkAt } from '../rules/verification/check-plan';
import type { Job } from '../rules/verification/job';
import type { LifecycleEvent } from '../rules/verification/lifecycle-record';
import {
  completedEvent,
  failedEvent,
  nextConsequence,
  nextRecheckRelation,
  preparedEvent,
  type Projected,
} from '../rules/verification/projection';
import { CHECK_OUTCOMES, type CheckOutcome } from '../rules/verification/results';
import type { RunBook } from '../rules/verification/run-book';
import {
  coordinatorOutput,
  normalizedOutput,
  specialistOutput,
  submissionDigest,
} from '../rules/verification/submission';
import { Refusal } from '../rules/refusal';
import { faultClass } from './fault-class';
import { endUncarried, eventOfFacts } from './follow-job';
import { RunContents, orMissing } from './run-contents';
import type { RunEngine } from './run-engine';

export class RunEvents {
  private readonly contents: RunContents;

  constructor(
    private readonly engine: RunEngine,
    /** What a recheck answers; null of any other run. */
    private readonly source: RunBook | null,
  ) {
    this.contents = new RunContents(engine.contents);
  }

  /** Null: nothing follows by itself. */
  async next(book: RunBook): Promise<LifecycleEvent | null> {
    const step = book.next();
    if (step === null) return null;
    const relation = this.source === null ? null : nextRecheckRelation(book, this.source);
    if (relation !== null) return relation;
    switch (step.does) {
      case 'execute':
        return this.executed(book, step.place);
      case 'prepare':
        return preparedEvent(await this.successor(book, step.job));
      case 'hand_off':
      case 'wait':
        return this.followed(book, step.job);
      case 'project':
        return this.projected(book, step.job);
      case 'withdraw':
        await endUncarried(this.engine, this.files(step.job), book, step.job, 'authorization_invalid');
        return this.followed(book, step.job);
      case 'end':
        return { type: 'run_closed', outcome: step.outcome };
    }
  }

  private async executed(book: RunBook, place: number): Promise<LifecycleEvent> {
    const { run } = book.must;
    const check = checkAt(run.plan, place);
    const { runId } = book;
    const before = await this.contents.settledAnswer(runId, place);
    const outcome = before ?? (await this.contents.settleAnswer(runId, place, await this.answer(book, place)));
    return { type: 'result_committed', result: { runId, check, outcome, jobId: null, submission: null } };
  }

  private async answer(book: RunBook, place: number): Promise<CheckAnswer> {
    const { run } = book.must;
    const { binding } = checkAt(run.plan, place);
    const check = this.engine.checks.find(binding);
    if (check === null) {
      throw new Refusal('no_adapter', `this worker has no check ${binding}; define it in the plugin`, 'binding');
    }
    const question = await this.contents.question(run, place);
    try {
      const answer = await this.engine.withDeadline(check.deadlineMs, (signal) => check.run(question, { signal }));
      normalizedOutput(answer.content ?? null);
      if (CHECK_OUTCOMES.includes(answer.outcome as CheckOutcome)) return answer;
      throw new TypeError('the outcome of a check must be one of the four');
    } catch (fault) {
      // A check that cannot say is one that has not said.
      const about = { runId: book.runId, binding, fault: faultClass(fault) };
      this.engine.warn?.('a check gave no answer; its result is inconclusive', about);
    }
    return { outcome: 'inconclusive' };
  }

  private async successor(book: RunBook, planned: PlannedJob): Promise<{ planned: PlannedJob; contextDigest: string }> {
    return { planned, contextDigest: await this.contents.putContext(book, planned) };
  }

  private async followed(book: RunBook, { jobId, ...planned }: PlannedJob): Promise<LifecycleEvent | null> {
    const job = book.jobs.get(jobId);
    if (job === undefined) return null;
    return eventOfFacts(job, await this.files({ ...planned, jobId }).facts());
  }

  private async projected(book: RunBook, planned: PlannedJob): Promise<LifecycleEvent> {
    const { jobId } = planned;
    const job = book.jobs.get(jobId) as Job;
    const outputDigest = book.outputs.get(jobId) ?? '';
    const output = await orMissing(() => this.engine.contents.content(outputDigest));
    if (output === 'missing') return failedEvent(jobId, 'submission_integrity_failed');
    const projected = projectedOf(planned, output, book.must.run.plan.checks.length);
    if (projected === null) return failedEvent(jobId, 'job_processing_failed');
    const consequence = nextConsequence(book, planned, projected);
    if (consequence !== null) return consequence;
    const next = successorOf(book.must.run, jobId);
    if (next !== null && !book.jobs.has(next.jobId)) return preparedEvent(await this.successor(book, next));
    const digest = submissionDigest({ jobId, contextDigest: job.contextDigest, outputDigest });
    return completedEvent(job, this.engine.newOwner(), digest, book, next?.jobId ?? null);
  }

  private files({ runId, jobId }: PlannedJob): ReturnType<RunEngine['journal']['job']> {
    return this.engine.journal.job(runId, jobId);
  }
}

/** Null of an output that is not what its job was to bring. */
function projectedOf({ role }: PlannedJob, output: unknown, checks: number): Projected | null {
  try {
    if (role === 'specialist') return { role, output: specialistOutput(output) };
    return { role, output: coordinatorOutput(output, checks) };
  } catch (fault) {
    if (fault instanceof Refusal) return null;
    throw fault;
  }
}
