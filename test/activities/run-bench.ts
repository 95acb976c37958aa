/** The real engine of verification runs over stores in memory, and somebody who carries a run as its workflow does, without Temporal. */
import { randomBytes } from 'node:crypto';
import { advance } from '../../src/activities/advance';
import { Checks } from '../../src/activities/checks';
import { Contents } from '../../src/activities/contents';
import { withDeadline } from '../../src/activities/deadline';
import { newOwner } from '../../src/activities/drive-activity';
import { Journal } from '../../src/activities/journal';
import { launch } from '../../src/activities/launch';
import { Launchers } from '../../src/activities/launchers';
import type { RunEngine } from '../../src/activities/run-engine';
import { settle } from '../../src/activities/settle';
import type { AdvanceRequest, AdvanceResult, RunAct } from '../../src/activities/verification-contract';
import type { CheckAnswer, LaunchContext, LaunchOutcome, Store } from '../../src/ports';
import { journalToText } from '../../src/rules/journal-record';
import { jobWorkflowId, orderToRecord } from '../../src/rules/launches/job-order';
import { orderOfJob } from '../../src/rules/launches/job-of-run';
import { signReceipt } from '../../src/rules/receipts/jws';
import type { LaunchClaims } from '../../src/rules/receipts/launch-claims';
import { launchOf } from '../../src/rules/verification/chain';
import type { RunBook } from '../../src/rules/verification/run-book';
import { runToRecord } from '../../src/rules/verification/run';
import { runWorkflowId } from '../../src/rules/verification/run-workflow';
import { VerificationClient, type PreparedRun, type RunDraft } from '../../src/client';
import { storeView, verifyJournal } from '../../src/verify';
import { APPROVER, signer } from '../rules/receipts/support';
import { TestReviewers } from '../support/reviewers';
import { MemoryStore } from './simulation/store';
import { quiet } from './launch-bench';

export const AT = 1_700_000_000_000;
const JOURNAL_ID = `jrn_${'0'.repeat(32)}`;

export class RunBench {
  readonly journal = new MemoryStore();
  readonly kept = new MemoryStore();
  readonly launched: string[] = [];
  clockMs = AT;
  /** What each worker brings; by role. */
  brings: (shown: { readonly role: string; readonly results?: readonly { readonly place: number }[] }) => unknown = (
    shown,
  ) =>
    shown.role === 'specialist'
      ? { outcome: 'departs' }
      : { proposals: [{ proposal_id: `prop_${'1'.repeat(32)}`, addresses: [0] }] };
  checks: () => Promise<CheckAnswer> = () => Promise.resolve({ outcome: 'departs', content: 'prose' });
  mostLaunchedChecks = 5;
  reviewers: TestReviewers | null = new TestReviewers();
  /** What the engine sees of the journal. */
  view: Store = this.journal;

  constructor() {
    this.journal.put('journal.json', new TextEncoder().encode(journalToText('0'.repeat(32))));
  }

  get engine(): RunEngine {
    const launcher = {
      deadlineMs: 1_000,
      launch: async (job: { readonly jobId: string }, { door }: LaunchContext): Promise<LaunchOutcome> => {
        this.launched.push(job.jobId);
        await door.submit(this.brings((await door.fetchContext()) as never));
        return { outcome: 'started' };
      },
    };
    return {
      journal: new Journal(this.view),
      contents: new Contents(this.kept),
      reviewers: this.reviewers,
      launchers: new Launchers([{ provider: 'example.org/model', model: 'model-1', launcher }]),
      launchRoles: null,
      checks: new Checks([{ binding: 'words', check: { run: () => this.checks() } }]),
      mostLaunchedChecks: this.mostLaunchedChecks,
      newOwner,
      newSecret: () => `${newOwner().slice(4)}${newOwner().slice(4)}`,
      now: () => this.clockMs,
      withDeadline,
    };
  }

  get client(): VerificationClient {
    const stores = { store: this.journal, contents: this.kept };
    return new VerificationClient({ ...stores, client: undefined as never, taskQueue: '', mostLaunchedChecks: 256 });
  }

  prepare(draft: RunDraft): Promise<PreparedRun> {
    return this.client.prepare({ ...draft, capture: { ...draft.capture, capturedAt: this.clockMs } });
  }

  advance(
    { runId, run, person, capturedAt }: PreparedRun,
    act: RunAct = { does: 'go_on' },
    more: Partial<AdvanceRequest> & { readonly workflowId?: string | null } = {},
  ): Promise<AdvanceResult> {
    const { workflowId = runWorkflowId(runId), ...asked } = more;
    const opening = { run: runToRecord(run), person, captured_at: capturedAt };
    const request = { run_id: runId, journal_id: null, opening, known: null, act, ...asked };
    return advance(this.engine, { workflowId, scheduledAt: 0, stopping: () => false }, request);
  }

  book({ runId }: Pick<PreparedRun, 'runId'>): Promise<RunBook> {
    return new Journal(this.journal).run(runId).book(JOURNAL_ID);
  }

  /** The receipt of the job that is waited for. */
  receipt(book: RunBook, more: Partial<LaunchClaims> & { readonly who?: string } = {}): string {
    const step = book.next();
    if (step?.does !== 'hand_off') throw new Error('no receipt is waited for');
    const { who = 'ann', ...claims } = more;
    const contextDigest = book.jobs.get(step.job.jobId)?.contextDigest ?? '';
    const iat = Math.floor(this.clockMs / 1000);
    const times = { jti: `nonce_${randomBytes(16).toString('hex')}`, iat, exp: iat + 60 };
    const fixed = {
      kind: 'launch',
      journalId: JOURNAL_ID,
      retryLimit: 0,
      authorizer: 'human',
      role: APPROVER,
    } as const;
    return signReceipt(
      { ...fixed, ...launchOf(book.must.run, step.job, contextDigest), ...times, ...claims },
      signer(who),
    );
  }

  /** Launches the job that is handed off, as its own workflow would. */
  async launch(book: RunBook): Promise<void> {
    const step = book.next();
    if (step === null || !('job' in step)) return;
    const { jobId } = step.job;
    const order = orderToRecord(orderOfJob(book.must.run, step.job, book.jobs.get(jobId)?.contextDigest ?? ''));
    const caller = { workflowId: jobWorkflowId(jobId), scheduledAt: 0 };
    const receipt = book.receipts.get(jobId)?.token ?? '';
    const result = await launch(this.engine, caller, quiet, { order, journal_id: null, receipt, lease_ms: 1_000 });
    const open = result.status === 'taken' && result.facts.outcome === null;
    if (!open) return;
    // Nobody may say what came of it: its lease is over.
    const does = { does: 'end', reason: 'launch_outcome_unknown', refusal: null } as const;
    await settle(this.engine, caller, { order, journal_id: null, receipt, does });
  }

  /** Carries the run to its end, as often as somebody has to begin again. */
  async carry(prepared: PreparedRun): Promise<RunBook> {
    for (;;) {
      await this.advance(prepared);
      const book = await this.book(prepared);
      const step = book.next();
      if (step === null) return book;
      if (step.does !== 'hand_off' && step.does !== 'wait') continue;
      if (book.receipts.has(step.job.jobId)) await this.launch(book);
      else await this.authorize(prepared, this.receipt(book));
    }
  }

  async authorize(prepared: PreparedRun, token: string): Promise<AdvanceResult> {
    const step = (await this.book(prepared)).next();
    const job_id = step !== null && 'job' in step ? step.job.jobId : '';
    return this.advance(prepared, { does: 'authorize', job_id, token });
  }

  async verified(strict = true): Promise<void> {
    const { findings } = await verifyJournal(storeView(this.journal), { strict });
    if (findings.length > 0) throw new Error(JSON.stringify(findings, null, 2));
  }
}
