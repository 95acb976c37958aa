/** Runs, receipts and whole histories for tests; the same in each run. */
import { findKey, type ReviewerKey } from '../../../src/rules/receipts/jwks';
import { signReceipt } from '../../../src/rules/receipts/jws';
import type { LaunchClaims } from '../../../src/rules/receipts/launch-claims';
import { launchOf, plannedJobs, type PlannedJob } from '../../../src/rules/verification/chain';
import type { Check } from '../../../src/rules/verification/check-plan';
import type { Executor, LaunchedExecutor } from '../../../src/rules/verification/executors';
import { lifecycleDigest } from '../../../src/rules/verification/lifecycle-record';
import type { LifecycleEvent, LifecycleRecord } from '../../../src/rules/verification/lifecycle-record';
import { LifecycleReader, LifecycleWriter } from '../../../src/rules/verification/lifecycle-stream';
import { resultDigest, type CheckResult } from '../../../src/rules/verification/results';
import { runDigest, runIdOf, type VerificationRun } from '../../../src/rules/verification/run';
import { submissionDigest } from '../../../src/rules/verification/submission';
import { APPROVER, KEYS, common, digest, nonce, personOf, signer } from '../receipts/support';

export { APPROVER, KEYS, digest, nonce, signer };
export const JOURNAL = common.journalId;
export const ANN = digest(personOf('ann'));
export const BOB = digest(personOf('bob'));
export const capture = (number: number): string => `cap_${number.toString(16).padStart(32, '0')}`;
export const sittingId = (number: number): string => `sit_${number.toString(16).padStart(32, '0')}`;
export const proposal = (number: number): string => `prop_${number.toString(16).padStart(32, '0')}`;
export const job = (number: number): string => number.toString(16).padStart(32, '0');

export const launched = (binding: string, more: Partial<LaunchedExecutor> = {}): LaunchedExecutor => ({
  mode: 'launched',
  binding,
  provider: 'example.org/provider',
  model: 'model-1',
  contentBoundary: 'captured_target_only',
  costCeiling: 500,
  ...more,
});
export const COORDINATOR = launched('coordinate', { contentBoundary: 'whole_context', costCeiling: 900 });

export const check = (criterion: string, binding: string): Check => ({
  criterion,
  check: `${criterion}-check`,
  binding,
  configurationSha256: digest(`configuration of ${criterion}`),
});

const BINDINGS: readonly Executor[] = [{ mode: 'in_process', binding: 'local' }, launched('model')];

/** `local` checks in the process and `specialists` launched ones, then the coordinator. */
export function runOf(local: number, specialists: number, more: Partial<VerificationRun> = {}): VerificationRun {
  const names = (count: number, name: string): Check[] =>
    Array.from({ length: count }, (_, index) => check(`${name}-${index}`, name));
  const checks = [...names(local, 'local'), ...names(specialists, 'model')];
  const used = new Set(checks.map(({ binding }) => binding));
  return {
    kind: 'verify',
    snapshot: {
      captureId: capture(1),
      contentDigest: digest('content'),
      targetDigest: digest('target'),
      selector: { source: digest('document'), kind: 'part', reference: digest('passage') },
      contextBoundary: 'whole_context',
    },
    plan: { checks },
    executors: { checks: BINDINGS.filter(({ binding }) => used.has(binding)), coordinator: COORDINATOR },
    input: { goalDigest: digest('goal'), protectedIntentDigest: digest('intent'), recheck: null },
    ...more,
  };
}

export const contextOf = (planned: PlannedJob): string => digest(`context of ${planned.jobId}`);

export function launchClaims(
  run: VerificationRun,
  planned: PlannedJob,
  more: Partial<LaunchClaims> = {},
): LaunchClaims {
  return {
    kind: 'launch',
    journalId: JOURNAL,
    ...launchOf(run, planned, contextOf(planned)),
    retryLimit: 0,
    authorizer: 'human',
    role: APPROVER,
    jti: nonce(1),
    iat: common.iat,
    exp: common.iat + 24 * 3600,
    ...more,
  };
}

export function keyOf(name: string): ReviewerKey {
  const { kid, x, person, roles } = findKey(KEYS, `key-${name}`) as ReviewerKey;
  return { kid, x, person, roles };
}

/** Chains events into records. */
export function chained(runId: string, events: readonly LifecycleEvent[]): LifecycleRecord[] {
  const records: LifecycleRecord[] = [];
  for (const event of events) {
    const last = records.at(-1);
    records.push({
      runId,
      sequence: records.length + 1,
      previous: last === undefined ? null : lifecycleDigest(last),
      event,
    });
  }
  return records;
}

export interface Story {
  readonly run: VerificationRun;
  readonly runId: string;
  readonly digest: string;
  readonly events: LifecycleEvent[];
  /** Digests of results, by the place of their check. */
  readonly results: string[];
}

const tokens = new Map<string, string>();
function signed(claims: LaunchClaims): string {
  const known = tokens.get(claims.jobId);
  if (known !== undefined) return known;
  const token = signReceipt(claims, signer('ann'));
  tokens.set(claims.jobId, token);
  return token;
}

/** All that happens in a run that goes well: its own checks, the chain, proposals by the coordinator, the end. */
export function storyOf(
  run: VerificationRun,
  proposals: readonly string[] = [],
  after: readonly LifecycleEvent[] = [],
): Story {
  const of = runDigest(run);
  const runId = runIdOf(of);
  const events: LifecycleEvent[] = [{ type: 'run_opened', run, person: ANN, capturedAt: 5_000 }];
  const results: string[] = [];
  const commit = (result: CheckResult): string => {
    events.push({ type: 'result_committed', result });
    results.push(resultDigest(result));
    return results.at(-1) as string;
  };
  const chain = plannedJobs(run);
  const prepare = (planned: PlannedJob | undefined): void => {
    if (planned === undefined) return;
    const { jobId, role, parent, stage, assignment } = planned;
    events.push({ type: 'job_prepared', jobId, role, parent, stage, assignment, contextDigest: contextOf(planned) });
    events.push({ type: 'job_authorized', jobId, token: signed(launchClaims(run, planned)), key: keyOf('ann') });
  };
  for (const one of run.plan.checks.filter(({ binding }) => binding === 'local')) {
    commit({ runId, check: one, outcome: 'conforms', jobId: null, submission: null });
  }
  prepare(chain[0]);
  for (const [index, planned] of chain.entries()) {
    const { jobId, assignment } = planned;
    const submission = { jobId, contextDigest: contextOf(planned), outputDigest: digest(`output of ${jobId}`) };
    const still = { reason: null, refusal: null } as const;
    events.push({ type: 'job_moved', jobId, from: 'prepared', to: 'launching', ...still });
    events.push({ type: 'job_moved', jobId, from: 'launching', to: 'running', ...still });
    events.push({ type: 'job_submitted', from: 'running', submission });
    const own: string[] = [];
    if (assignment !== null) {
      const { sequence: _sequence, total: _total, ...bound } = assignment;
      own.push(commit({ runId, check: bound, outcome: 'departs', jobId, submission: submissionDigest(submission) }));
    } else {
      for (const [place, id] of proposals.entries()) {
        const from = results[place % results.length] as string;
        events.push({ type: 'results_related', relation: { kind: 'addresses', from, to: id } });
      }
    }
    prepare(chain[index + 1]);
    events.push({ type: 'job_completed', jobId, results: own, next: chain[index + 1]?.jobId ?? null });
  }
  events.push({ type: 'run_closed', outcome: 'completed' }, ...after);
  return { run, runId, digest: of, events, results };
}

export function linesOf(stories: readonly Pick<Story, 'runId' | 'events'>[]): string[] {
  const writer = new LifecycleWriter(JOURNAL);
  const lines = [writer.header()];
  for (const { runId, events } of stories) for (const one of chained(runId, events)) lines.push(writer.record(one));
  lines.push(writer.closing());
  return lines;
}

export function imported(lines: readonly string[]): LifecycleRecord[] {
  const reader = new LifecycleReader({ keys: KEYS });
  const records = lines.map((line) => reader.take(line)).filter((record) => record !== null);
  reader.finish();
  return records;
}
