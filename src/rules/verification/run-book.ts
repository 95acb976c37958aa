/**
 * The records of one run, and where they have brought it. Invariant: a record counts only where `LifecycleRun` takes it, so activity,
 * workflow and reader come to the same state; what it says of other runs is not judged here, but where all of them are read.
 */
import { launchClaimsOf, decodeReceipt } from '../receipts/jws';
import { Refusal } from '../refusal';
import type { Affirmation } from './affirmation';
import { prepareJob, type Job } from './job';
import { lifecycleDigest, type LifecycleEvent, type LifecycleRecord } from './lifecycle-record';
import { LifecycleRun, Seen } from './lifecycle-run';
import { sameCheck } from './check-plan';
import { nextStep, type RunStep } from './next-step';
import { relationDigest, resultDigest, type CheckResult, type ResultRelation } from './results';
import { runDigest, type VerificationRun } from './run';
import type { Sitting } from './sitting';
import { submissionDigest } from './submission';

export interface BookedResult {
  readonly digest: string;
  readonly result: CheckResult;
}
export interface BookedReceipt {
  readonly token: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}
interface Opened {
  readonly run: VerificationRun;
  readonly digest: string;
  readonly person: string;
  readonly capturedAt: number;
}

/** Of a job that nobody has authorized: no clock ends it by itself. */
const NO_EXPIRY = Number.MAX_SAFE_INTEGER;
const RECORDED = 'recorded';

export class RunBook {
  readonly records: LifecycleRecord[] = [];
  readonly jobs = new Map<string, Job>();
  readonly receipts = new Map<string, BookedReceipt>();
  /** Digests of outputs in the content store, by job. */
  readonly outputs = new Map<string, string>();
  readonly results: BookedResult[] = [];
  readonly relations: ResultRelation[] = [];
  readonly sittings: Sitting[] = [];
  readonly affirmations: Affirmation[] = [];
  outcome: 'completed' | 'incomplete' | null = null;
  private opening: Opened | null = null;
  private readonly executed = new Set<number>();
  private readonly seen = new Seen();
  private readonly history: LifecycleRun;
  private readonly related = new Set<string>();

  constructor(
    readonly runId: string,
    journalId: string,
  ) {
    this.history = new LifecycleRun({ journalId, keys: null }, this.seen);
  }

  get opened(): Opened | null {
    return this.opening;
  }

  get must(): Opened {
    if (this.opening !== null) return this.opening;
    throw new Refusal('unknown_run', 'the journal holds no such run; start it first', this.runId);
  }

  get head(): { readonly sequence: number; readonly digest: string } | null {
    const last = this.records.at(-1);
    return last === undefined ? null : { sequence: last.sequence, digest: lifecycleDigest(last) };
  }

  /** The record that would say so next. */
  draft(event: LifecycleEvent): LifecycleRecord {
    const { head } = this;
    return { runId: this.runId, sequence: (head?.sequence ?? 0) + 1, previous: head?.digest ?? null, event };
  }

  /** Throws `invalid_record`; then nothing has changed that counts. */
  accept(record: LifecycleRecord): void {
    if (record.runId !== this.runId) throw new Refusal('invalid_record', 'is of another run', 'record.run_id');
    this.believe(record.event);
    this.history.accept(record);
    this.records.push(record);
    this.take(record.event);
  }

  /** Null once the run is closed. */
  next(): RunStep | null {
    if (this.outcome !== null) return null;
    return nextStep({ run: this.must.run, executed: this.executed, jobs: this.jobs });
  }

  holds(relation: ResultRelation): boolean {
    return this.related.has(relationDigest(relation));
  }

  /** Proposals that the coordinator made, with the results that each addresses. */
  proposals(): ReadonlyMap<string, readonly string[]> {
    const proposals = new Map<string, string[]>();
    for (const { kind, from, to } of this.relations) {
      if (kind === 'addresses') proposals.set(to, [...(proposals.get(to) ?? []), from]);
    }
    return proposals;
  }

  /** What other runs have, this one takes as given. */
  private believe(event: LifecycleEvent): void {
    const { seen } = this;
    if (event.type === 'run_opened' && event.run.input.recheck !== null) {
      const { sourceRun, intentId, affirmation } = event.run.input.recheck;
      seen.runs.add(sourceRun);
      seen.intents.add(intentId);
      if (affirmation !== null) seen.affirmations.add(affirmation);
    }
    if (event.type === 'results_related' && event.relation.kind !== 'addresses') seen.results.add(event.relation.to);
    if (event.type === 'proposals_applied') for (const id of event.sitting.proposals) seen.proposals.add(id);
  }

  private take(event: LifecycleEvent): void {
    switch (event.type) {
      case 'run_opened': {
        const { run, person, capturedAt } = event;
        this.opening = { run, digest: runDigest(run), person, capturedAt };
        return;
      }
      case 'result_committed':
        return this.takeResult(event.result);
      case 'results_related':
        this.relations.push(event.relation);
        this.related.add(relationDigest(event.relation));
        return;
      case 'job_prepared':
        this.jobs.set(event.jobId, prepareJob(event.jobId, event.contextDigest, NO_EXPIRY));
        return;
      case 'job_authorized': {
        const expiresAt = launchClaimsOf(decodeReceipt(event.token)).exp * 1000;
        this.receipts.set(event.jobId, { token: event.token, expiresAt });
        return this.change(event.jobId, { expiresAt });
      }
      case 'job_moved': {
        const { jobId, to: state, reason, refusal } = event;
        return this.change(jobId, { state, reason, refusal, ...(state === 'launching' ? { claim: RECORDED } : {}) });
      }
      case 'job_submitted': {
        const { jobId, outputDigest } = event.submission;
        this.outputs.set(jobId, outputDigest);
        return this.change(jobId, { state: 'submitted', submission: submissionDigest(event.submission) });
      }
      case 'job_completed':
        return this.change(event.jobId, { state: 'completed', next: event.next });
      case 'run_closed':
        this.outcome = event.outcome;
        return;
      case 'proposals_applied':
        this.sittings.push(event.sitting);
        return;
      case 'target_affirmed':
        this.affirmations.push(event.affirmation);
    }
  }

  private takeResult(result: CheckResult): void {
    this.results.push({ digest: resultDigest(result), result });
    if (result.jobId !== null) return;
    this.executed.add(this.must.run.plan.checks.findIndex((check) => sameCheck(check, result.check)));
  }

  private change(jobId: string, changes: Partial<Job>): void {
    const job = this.jobs.get(jobId);
    if (job !== undefined) this.jobs.set(jobId, { ...job, ...changes });
  }
}
