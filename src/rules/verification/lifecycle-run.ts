/**
 * The history of one run, record by record. Invariant: a record is accepted only when the run could have come to it: in order, under the
 * frozen plan, with receipts for exactly these launches, by moves of the tables, and about nothing that was not seen before.
 */
import { Refusal } from '../refusal';
import type { Launch } from '../receipts/launch-claims';
import { launchUnder, refuseOther } from '../receipts/launch-receipt';
import type { Jwks } from '../receipts/jwks';
import { affirmationDigest } from './affirmation';
import { inProcessChecks, launchOf, plannedJobs, type Assignment, type PlannedJob } from './chain';
import { checkAt, sameCheck } from './check-plan';
import { mayMove, isTerminal, type JobState } from './job-states';
import { lifecycleDigest } from './lifecycle-record';
import type { LifecycleBodies, LifecycleRecord, LifecycleType } from './lifecycle-record';
import { resultDigest } from './results';
import { runDigest, runIdOf, type VerificationRun } from './run';
import { recheckIntentId } from './sitting';
import { submissionDigest } from './submission';

/** What records may refer to across runs. Names only, so it stays small. */
export class Seen {
  readonly runs = new Set<string>();
  readonly results = new Set<string>();
  readonly proposals = new Set<string>();
  readonly intents = new Set<string>();
  readonly affirmations = new Set<string>();
}

export interface LifecycleContext {
  readonly journalId: string;
  /** Null: any key beside a receipt will do, as long as it made the signature. */
  readonly keys: Jwks | null;
}

interface Known {
  readonly planned: PlannedJob;
  readonly contextDigest: string;
  state: JobState;
  authorized: boolean;
  submission: string | null;
  readonly results: string[];
}
interface Opened {
  readonly run: VerificationRun;
  readonly digest: string;
  readonly person: string;
  readonly chain: readonly PlannedJob[];
}

export class LifecycleRun {
  private last: LifecycleRecord | null = null;
  private opened: Opened | null = null;
  private readonly jobs = new Map<string, Known>();
  private readonly executed = new Set<number>();
  private readonly own = new Set<string>();
  private readonly proposals = new Set<string>();
  private readonly sittings = new Set<string>();
  private closed = false;

  constructor(
    private readonly context: LifecycleContext,
    private readonly seen: Seen,
  ) {}

  get runId(): string | null {
    return this.last?.runId ?? null;
  }

  /** Throws `invalid_record`, or what is wrong with a receipt; nothing has changed then that counts. */
  accept(record: LifecycleRecord): void {
    const { last } = this;
    if (record.sequence !== (last?.sequence ?? 0) + 1) refuse('is out of order', 'sequence');
    if (record.previous !== (last === null ? null : lifecycleDigest(last))) {
      refuse('is not the digest of the record before', 'previous');
    }
    if (last !== null && record.runId !== last.runId) refuse('is of another run', 'run_id');
    const { event } = record;
    if ((event.type === 'run_opened') !== (this.opened === null)) refuse('must open the run, once', 'type');
    if (this.closed && event.type !== 'proposals_applied' && event.type !== 'target_affirmed') {
      refuse('stands behind the end of the run', 'type');
    }
    const apply = this.rules[event.type] as (body: unknown, record: LifecycleRecord) => void;
    apply(event, record);
    this.last = record;
  }

  /** Call when no more records come. */
  end(): void {
    if (this.last !== null && !this.closed) refuse('does not end; its history is cut off', 'run');
  }

  private readonly rules: {
    readonly [T in LifecycleType]: (body: LifecycleBodies[T], record: LifecycleRecord) => void;
  } = {
    run_opened: ({ run, person }, { runId }) => {
      const digest = runDigest(run);
      if (runIdOf(digest) !== runId) refuse('does not follow from the run', 'run_id');
      const { recheck } = run.input;
      if (recheck !== null) {
        const { sourceRun, intentId, affirmation } = recheck;
        if (!this.seen.runs.has(sourceRun)) refuse('was not seen before', 'body.run.input.recheck.source_run');
        if (!this.seen.intents.has(intentId)) refuse('was not seen before', 'body.run.input.recheck.intent_id');
        if (affirmation !== null && !this.seen.affirmations.has(affirmation)) {
          refuse('was not seen before', 'body.run.input.recheck.affirmation');
        }
      }
      if (this.seen.runs.has(digest)) refuse('is there twice', 'run_id');
      this.seen.runs.add(digest);
      this.opened = { run, digest, person, chain: plannedJobs(run) };
    },

    result_committed: ({ result }, { runId }) => {
      const { run } = this.must();
      if (result.runId !== runId) refuse('is of another run', 'body.result.run_id');
      const digest = resultDigest(result);
      if (this.own.has(digest)) refuse('is there twice', 'body.result');
      if (result.jobId === null) {
        const place = inProcessChecks(run).find((check) => sameCheck(checkAt(run.plan, check), result.check));
        if (place === undefined || this.executed.has(place)) refuse('is of no such check of the plan', 'body.result');
        if (this.jobs.size > 0) refuse('comes after the first job', 'body.result');
        this.executed.add(place);
      } else {
        const job = this.job(result.jobId, 'body.result.job_id');
        if (job.state !== 'submitted') refuse('is of a job that has not submitted', 'body.result.job_id');
        if (result.submission !== job.submission) refuse('is of another submission', 'body.result.submission');
        const { assignment } = job.planned;
        const bound = assignment !== null && sameCheck(assignment, result.check) && job.results.length === 0;
        if (!bound) refuse('is not of the one check that its job is bound to', 'body.result');
        job.results.push(digest);
      }
      this.own.add(digest);
      this.seen.results.add(digest);
    },

    results_related: ({ relation: { kind, from, to } }) => {
      this.must();
      if (!this.own.has(from)) refuse('is no result of this run', 'body.relation.from');
      if (kind === 'addresses') {
        const { submitted } = this.coordinator();
        if (!submitted) refuse('comes before its coordinator has submitted', 'body.relation');
        this.proposals.add(to);
        this.seen.proposals.add(to);
      } else if (!this.seen.results.has(to) && !this.seen.proposals.has(to)) {
        refuse('was not seen before', 'body.relation.to');
      }
    },

    job_prepared: (body) => {
      const { run, chain } = this.must();
      if (this.executed.size !== inProcessChecks(run).length) {
        refuse('comes before the checks of the process', 'body.job_id');
      }
      const planned = chain[this.jobs.size];
      const parent = chain[this.jobs.size - 1];
      if (planned === undefined) refuse('is more than the plan has', 'body.job_id');
      const before = parent === undefined ? null : this.jobs.get(parent.jobId);
      if (before !== null && before?.state !== 'submitted') {
        refuse('follows a job that has not submitted', 'body.job_id');
      }
      refuseUnplanned(body, planned);
      const { contextDigest } = body;
      const fresh = { state: 'prepared' as const, authorized: false, submission: null, results: [] };
      this.jobs.set(planned.jobId, { planned, contextDigest, ...fresh });
    },

    job_authorized: ({ jobId, token, key }) => {
      const { run, person } = this.must();
      const job = this.job(jobId, 'body.job_id');
      if (job.authorized || job.state !== 'prepared') refuse('has a receipt already, or is past it', 'body.job_id');
      const known = this.context.keys?.keys.some(({ kid, x }) => kid === key.kid && x === key.x) ?? true;
      if (!known) throw new Refusal('receipt_unknown_key', 'is no key of a reviewer', 'record.body.key');
      const { claims } = launchUnder(token, key);
      const launch: Launch = launchOf(run, job.planned, job.contextDigest);
      if (claims.journalId !== this.context.journalId) {
        throw new Refusal('receipt_wrong_journal', 'is for another journal', 'record.body.token.journal_id');
      }
      refuseOther(claims, launch);
      if (key.person !== person) {
        throw new Refusal('receipt_wrong_launch', 'is of another person than the run', 'record.body.key.person');
      }
      job.authorized = true;
    },

    job_moved: ({ jobId, from, to, reason, refusal }) => {
      const job = this.job(jobId, 'body.job_id');
      if (job.state !== from) refuse('is not where the job was', 'body.from');
      const named = to !== 'submitted' && to !== 'completed' && mayMove(from, to, reason);
      if (!named) refuse('is no move of a job', 'body.to');
      if ((reason === 'provider_refused') !== (refusal !== null)) {
        refuse('belongs to provider_refused, and only there', 'body.refusal');
      }
      if (to === 'launching' && !job.authorized) refuse('was launched without a receipt', 'body.to');
      if (to === 'launching' && !this.isItsTurn(job)) refuse('was launched before its turn', 'body.to');
      job.state = to;
    },

    job_submitted: ({ from, submission }) => {
      const job = this.job(submission.jobId, 'body.submission.job_id');
      if (job.state !== from || !mayMove(from, 'submitted', null)) refuse('is no move of the job', 'body.from');
      if (!job.authorized) refuse('is of a job without a receipt', 'body.submission.job_id');
      if (!this.isItsTurn(job)) refuse('comes before the turn of its job', 'body.submission.job_id');
      if (submission.contextDigest !== job.contextDigest) {
        refuse('is not the context of the job', 'body.submission.context_digest');
      }
      job.state = 'submitted';
      job.submission = submissionDigest(submission);
    },

    job_completed: ({ jobId, results, next }) => {
      const { chain } = this.must();
      const job = this.job(jobId, 'body.job_id');
      if (!mayMove(job.state, 'completed', null)) refuse('is no move of the job', 'body.job_id');
      const complete = results.join() === job.results.join();
      const enough = job.planned.role === 'coordinator' || results.length === 1;
      if (!complete || !enough) refuse('must be all results of the job', 'body.results');
      const successor = chain[chain.indexOf(job.planned) + 1] ?? null;
      if (next !== (successor?.jobId ?? null)) {
        const named = successor?.role === 'coordinator' ? 'the initial coordinator' : 'the job that the plan has next';
        refuse(`must be ${named}`, 'body.next');
      }
      if (next !== null && !this.jobs.has(next)) refuse('was not seen before', 'body.next');
      job.state = 'completed';
    },

    run_closed: ({ outcome }) => {
      const { run, chain } = this.must();
      const states = chain.map(({ jobId }) => this.jobs.get(jobId)?.state ?? null);
      const done = this.executed.size === inProcessChecks(run).length && states.every((one) => one === 'completed');
      const over = states.every((one) => one === null || isTerminal(one));
      const lost = states.some((one) => one === 'unavailable' || one === 'failed');
      if (outcome === 'completed' ? !done : !over || !lost) refuse('is not what its jobs came to', 'body.outcome');
      this.closed = true;
    },

    proposals_applied: ({ sitting }) => {
      const { digest } = this.must();
      if (!this.closed) refuse('comes before the end of the run', 'type');
      const proposals = sitting.proposals.filter((id) => this.proposals.has(id));
      const strange = sitting.proposals.some((id) => !this.seen.proposals.has(id));
      if (strange || proposals.length === 0) refuse('were not seen before', 'body.sitting.proposals');
      if (this.sittings.has(sitting.sittingId)) refuse('is there twice', 'body.sitting.sitting_id');
      this.sittings.add(sitting.sittingId);
      this.seen.intents.add(recheckIntentId({ sittingId: sitting.sittingId, sourceRun: digest, proposals }));
    },

    target_affirmed: ({ affirmation }) => {
      const { digest } = this.must();
      const { intentId, sourceRun } = affirmation;
      if (sourceRun !== digest) refuse('is another run', 'body.affirmation.source_run');
      if (!this.seen.intents.has(intentId)) refuse('was not seen before', 'body.affirmation.intent_id');
      const own = affirmation.proposals.every((id) => this.proposals.has(id));
      if (!own) refuse('are not of this run', 'body.affirmation.proposals');
      this.seen.affirmations.add(affirmationDigest(affirmation));
    },
  };

  private must(): Opened {
    return this.opened ?? refuse('must open the run, once', 'type');
  }

  private job(jobId: string, field: string): Known {
    return this.jobs.get(jobId) ?? refuse('was not seen before', field);
  }

  /** The job before it is completed, so this is the one child that it names. */
  private isItsTurn({ planned }: Known): boolean {
    const { chain } = this.must();
    const before = chain[chain.indexOf(planned) - 1];
    return before === undefined || this.jobs.get(before.jobId)?.state === 'completed';
  }

  private coordinator(): { readonly submitted: boolean } {
    const last = this.must().chain.at(-1);
    return { submitted: last !== undefined && this.jobs.get(last.jobId)?.state === 'submitted' };
  }
}

type Prepared = LifecycleBodies['job_prepared'];
const PLANNED: readonly (readonly [field: string, same: (body: Prepared, planned: PlannedJob) => boolean])[] = [
  ['role', (body, planned) => body.role === planned.role],
  ['parent', (body, planned) => body.parent === planned.parent],
  ['stage', (body, planned) => body.stage === planned.stage],
  ['assignment', ({ assignment }, planned) => sameAssignment(assignment, planned.assignment)],
  ['job_id', (body, planned) => body.jobId === planned.jobId],
];

function refuseUnplanned(body: Prepared, planned: PlannedJob): void {
  const different = PLANNED.find(([, same]) => !same(body, planned));
  if (different !== undefined) refuse('is not what the frozen plan has next', `body.${different[0]}`);
}

function sameAssignment(one: Assignment | null, other: Assignment | null): boolean {
  if (one === null || other === null) return one === other;
  return sameCheck(one, other) && one.sequence === other.sequence && one.total === other.total;
}

function refuse(reason: string, field: string): never {
  throw new Refusal('invalid_record', reason, field === 'run' ? field : `record.${field}`);
}
