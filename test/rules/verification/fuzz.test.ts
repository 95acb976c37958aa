/**
 * Every reader of verification, fed with valid records that were damaged in their structure; and the names of things.
 *
 * Held here:
 * - whatever is read, it is accepted or refused with a code, and what is accepted has one text;
 * - every field of what names a thing changes its name, and nothing else does.
 */
import { describe, expect, it } from 'vitest';
import { launchClaimsFromRecord, launchClaimsToRecord } from '../../../src/rules/receipts/launch-claims';
import { canonicalJson, parseJson } from '../../../src/rules/recovery';
import { jobIdOf, operationIdOf } from '../../../src/rules/verification/job-identity';
import { plannedJobs, type PlannedJob } from '../../../src/rules/verification/chain';
import { lifecycleFromBytes, lifecycleToText } from '../../../src/rules/verification/lifecycle-record';
import { runDigest, runFromRecord, runToRecord } from '../../../src/rules/verification/run';
import { sittingFromRecord, sittingToRecord } from '../../../src/rules/verification/sitting';
import { snapshotDigest } from '../../../src/rules/verification/snapshot';
import { coordinatorOutput, normalizedOutput, submissionDigest } from '../../../src/rules/verification/submission';
import { fuzz, type Reader } from '../damage';
import { ANN, capture, chained, digest, job, launchClaims, proposal, runOf, sittingId, storyOf } from './support';

const run = runOf(1, 1);
const claims = launchClaims(run, plannedJobs(run)[0] as PlannedJob);
const sitting = { sittingId: sittingId(1), person: ANN, committedAt: 5, proposals: [proposal(1)] };
const story = storyOf(run, sitting.proposals, [{ type: 'proposals_applied', sitting }]);
const seen = new Set<string>();
const records = chained(story.runId, story.events).filter(({ event: { type } }) => !seen.has(type) && seen.add(type));
const plain = (value: unknown): unknown => JSON.parse(canonicalJson(value)) as unknown;

/** Under its own digest, so that only what the record says can be wrong with it. */
function sealed(text: string): string {
  const record = JSON.parse(text) as unknown;
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return text;
  const { digest: _old, ...rest } = record as Record<string, unknown>;
  return canonicalJson({ ...rest, digest: digest(canonicalJson(rest)) });
}

const READERS: readonly Reader[] = [
  ...records.map((record): Reader => ({
    name: `record ${record.event.type}`,
    valid: JSON.parse(lifecycleToText(record)) as unknown,
    trip: (text) => lifecycleToText(lifecycleFromBytes(sealed(text))),
  })),
  {
    name: 'run',
    valid: plain(runToRecord(run)),
    trip: (text) => canonicalJson(runToRecord(runFromRecord(parseJson(text, 'run')))),
  },
  {
    name: 'launch receipt',
    valid: plain(launchClaimsToRecord(claims)),
    trip: (text) => canonicalJson(launchClaimsToRecord(launchClaimsFromRecord(parseJson(text, 'claims')))),
  },
  {
    name: 'sitting',
    valid: plain(sittingToRecord(sitting)),
    trip: (text) => canonicalJson(sittingToRecord(sittingFromRecord(parseJson(text, 'sitting')))),
  },
  {
    name: 'output',
    valid: { proposals: [{ proposal_id: proposal(1), addresses: [1, 0] }], content: { note: [0.5] } },
    trip: (_text, value) => String(coordinatorOutput(value, 2).proposals.length) + normalizedOutput(value).digest,
  },
];
const WORDS = [
  digest('0'),
  job(1),
  capture(2),
  proposal(2),
  'specialist',
  'coordinator',
  'in_process',
  'part',
  'whole',
];

describe.each(READERS)('the reader of a $name', (reader) => fuzz(reader, WORDS));

describe('a name', () => {
  it('is what it was: another program has to come to the same', () => {
    const runId = `run_${'0'.repeat(32)}`;
    const first = jobIdOf({ runId, role: 'specialist', parent: null });
    expect([first, operationIdOf(first)]).toEqual([
      digest(`{"domain":"countersign.job.v1","parent_job":null,"role":"specialist","run":"${runId}"}`).slice(7, 39),
      `op_internal_${digest(`{"domain":"countersign.internal_operation.v1","handler":"launch","job":"${first}"}`).slice(
        7,
        39,
      )}`,
    ]);
    const submission = { jobId: first, contextDigest: digest('c'), outputDigest: digest('o') };
    expect(submissionDigest(submission)).toBe(
      digest(
        `{"context_digest":"${digest('c')}","domain":"countersign.submission.v1","job_id":"${first}","output_digest":"${digest('o')}"}`,
      ),
    );
  });

  it('of a run changes with everything that could change its results', () => {
    const { snapshot, input } = run;
    const others = [
      run,
      { ...run, kind: 'recheck' as const },
      { ...run, snapshot: { ...snapshot, captureId: capture(2) } },
      { ...run, snapshot: { ...snapshot, contentDigest: digest('x') } },
      { ...run, snapshot: { ...snapshot, targetDigest: digest('x') } },
      { ...run, snapshot: { ...snapshot, contextBoundary: 'captured_target_only' as const } },
      { ...run, snapshot: { ...snapshot, selector: { ...snapshot.selector, reference: null } } },
      { ...run, plan: { checks: [...run.plan.checks].reverse() } },
      { ...run, executors: { ...run.executors, coordinator: null } },
      { ...run, input: { ...input, goalDigest: digest('x') } },
      { ...run, input: { ...input, protectedIntentDigest: null } },
    ];
    expect(new Set(others.map(runDigest)).size).toBe(others.length);
    expect(runDigest(runFromRecord(runToRecord(run)))).toBe(runDigest(run));
    expect(snapshotDigest({ ...snapshot })).toBe(snapshotDigest(snapshot));
  });
});
