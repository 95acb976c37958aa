/**
 * The contents of a verification run: what it was asked, what its workers are shown, and what they said. Invariant: a specialist is
 * shown its check and the captured target, the coordinator all results; what is shown follows from the records, so it has one digest.
 */
import type { CheckAnswer, CheckQuestion } from '../ports';
import { Refusal } from '../rules/refusal';
import type { PlannedJob } from '../rules/verification/chain';
import { checkAt, sameCheck, type Check } from '../rules/verification/check-plan';
import type { RunBook } from '../rules/verification/run-book';
import type { CheckOutcome } from '../rules/verification/results';
import type { VerificationRun } from '../rules/verification/run';
import type { Contents } from './contents';

/** All captures of one document share a salt, so that one text has one digest, and nobody else can guess it. */
export function documentScope(source: string): string {
  return `doc_${source.slice('sha256:'.length)}`;
}

export class RunContents {
  constructor(private readonly contents: Contents) {}

  /** Throws `content_missing` for what is not there. */
  async refuseMissing({ snapshot, input, plan }: VerificationRun): Promise<void> {
    const { contentDigest, targetDigest } = snapshot;
    const { goalDigest, protectedIntentDigest } = input;
    const asked = [
      contentDigest,
      targetDigest,
      goalDigest,
      ...((protectedIntentDigest ?? '') ? [protectedIntentDigest] : []),
    ];
    for (const digest of asked) await this.contents.content(digest as string);
    for (const { configurationSha256 } of plan.checks) await this.contents.configuration(configurationSha256);
  }

  async question(run: VerificationRun, place: number): Promise<CheckQuestion> {
    const { criterion, check, configurationSha256 } = checkAt(run.plan, place);
    const whole = run.snapshot.contextBoundary === 'whole_context';
    return {
      ...{ criterion, check },
      configuration: await this.contents.configuration(configurationSha256),
      target: await this.contents.content(run.snapshot.targetDigest),
      whole: whole ? await this.contents.content(run.snapshot.contentDigest) : null,
      ...(await this.input(run)),
    };
  }

  /** Keeps an answer unless one was kept before; answers the outcome that counts. */
  async settleAnswer(runId: string, place: number, { outcome, content = null }: CheckAnswer): Promise<CheckOutcome> {
    const key = answerKey(runId, place);
    const digest = await this.contents.putResult(runId, key, { outcome, content });
    return this.outcomeOf(await this.contents.settleResult(key, digest));
  }

  /** What was answered before a crash; null when nothing was. */
  async settledAnswer(runId: string, place: number): Promise<CheckOutcome | null> {
    const digest = await this.contents.settledResult(answerKey(runId, place));
    return digest === null ? null : this.outcomeOf(digest);
  }

  /** Stores what the worker of a job is shown, and answers its digest. */
  async putContext(book: RunBook, planned: PlannedJob): Promise<string> {
    const { run } = book.must;
    const { assignment, jobId } = planned;
    const shown =
      assignment === null ? await this.forCoordinator(book, planned) : await this.forSpecialist(run, assignment);
    return this.contents.putResult(book.runId, `context-${jobId}`, { role: planned.role, ...shown });
  }

  private async forSpecialist(
    run: VerificationRun,
    assignment: Check & { sequence: number; total: number },
  ): Promise<object> {
    const { criterion, check, configurationSha256, sequence, total } = assignment;
    const configuration = await this.contents.configuration(configurationSha256);
    const target = await this.contents.content(run.snapshot.targetDigest);
    return { ...{ criterion, check, configuration, sequence, total, target }, ...(await this.wireInput(run)) };
  }

  private async forCoordinator(book: RunBook, { executor }: PlannedJob): Promise<object> {
    const { run } = book.must;
    const whole = executor.contentBoundary === 'whole_context' && run.snapshot.contextBoundary === 'whole_context';
    return {
      target: await this.contents.content(run.snapshot.targetDigest),
      ...(whole ? { whole: await this.contents.content(run.snapshot.contentDigest) } : {}),
      ...(await this.wireInput(run)),
      results: await this.results(book),
      ...(run.input.recheck === null ? {} : { rechecked: run.input.recheck.proposals }),
    };
  }

  /** In the order of the plan, with what each check said. */
  private async results(book: RunBook): Promise<readonly object[]> {
    const { plan } = book.must.run;
    const found: object[] = [];
    for (const [place, check] of plan.checks.entries()) {
      const booked = book.results.find(({ result }) => sameCheck(result.check, check));
      if (booked === undefined) continue;
      const { outcome, jobId } = booked.result;
      const digest =
        jobId === null ? await this.contents.settledResult(answerKey(book.runId, place)) : book.outputs.get(jobId);
      const said = digest == null ? {} : ((await this.contents.content(digest)) as { readonly content?: unknown });
      found.push({ place, criterion: check.criterion, check: check.check, outcome, content: said.content ?? null });
    }
    return found;
  }

  private async input({ input }: VerificationRun): Promise<Pick<CheckQuestion, 'goal' | 'protectedIntent'>> {
    const { goalDigest, protectedIntentDigest } = input;
    return {
      goal: await this.contents.content(goalDigest),
      protectedIntent: protectedIntentDigest === null ? null : await this.contents.content(protectedIntentDigest),
    };
  }

  private async wireInput(run: VerificationRun): Promise<object> {
    const { goal, protectedIntent } = await this.input(run);
    return { goal, protected_intent: protectedIntent };
  }

  private async outcomeOf(digest: string): Promise<CheckOutcome> {
    return ((await this.contents.content(digest)) as { readonly outcome: CheckOutcome }).outcome;
  }
}

/** Under which the answer of a check in the worker is recalled. */
export function answerKey(runId: string, place: number): string {
  return `${runId}.check-${place}`;
}

/** Of a content that is gone, or is not what it was; anything else is thrown on. */
export async function orMissing<T>(read: () => Promise<T>): Promise<T | 'missing'> {
  try {
    return await read();
  } catch (fault) {
    if (fault instanceof Refusal && fault.code === 'content_missing') return 'missing';
    throw fault;
  }
}
