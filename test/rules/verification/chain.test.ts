/**
 * The chain of a run, and what follows from each state in which a crash can leave it.
 *
 * Held here:
 * - each row of the crash table leads where the specification says;
 * - from any state: at most one job may be handed off, a completed parent has exactly the planned child, a lost one has none;
 * - states that no order of writing leaves behind are refused;
 * - too many launched checks are refused before anything happens.
 */
import { describe, expect, it } from 'vitest';
import { plannedJobs, successorOf } from '../../../src/rules/verification/chain';
import { prepareJob, type Job } from '../../../src/rules/verification/job';
import { nextStep, type RunStep } from '../../../src/rules/verification/next-step';
import { runFromRecord, runToRecord } from '../../../src/rules/verification/run';
import { digest, runOf } from './support';

const run = runOf(1, 2);
const chain = plannedJobs(run);
const ids = chain.map(({ jobId }) => jobId);
type Left =
  'none' | 'prepared' | 'expired' | 'launching' | 'running' | 'submitted' | 'completed' | 'unavailable' | 'failed';
const LEFT: readonly Left[] = ['none', 'prepared', 'expired', 'launching', 'running', 'submitted', 'completed', 'unavailable', 'failed']; // prettier-ignore

function jobOf(place: number, left: Left): Job[] {
  const job = prepareJob(ids[place] as string, digest('c'), 5);
  const claimed = { ...job, claim: 'a' };
  const brought = { ...claimed, submission: digest('s') };
  switch (left) {
    case 'none':
      return [];
    case 'prepared':
      return [job];
    case 'expired':
      return [{ ...job, state: 'unavailable', reason: 'authorization_expired' }];
    case 'completed':
      return [{ ...brought, state: left, next: ids[place + 1] ?? null }];
    case 'unavailable':
      return [{ ...claimed, state: left, reason: 'launch_outcome_unknown' }];
    case 'failed':
      return [{ ...brought, state: left, reason: 'submission_integrity_failed' }];
    case 'submitted':
      return [{ ...brought, state: left }];
    default:
      return [{ ...claimed, state: left }];
  }
}
const step = (...left: readonly Left[]): RunStep =>
  nextStep({
    run,
    executed: new Set([0]),
    jobs: new Map(left.flatMap((one, place) => jobOf(place, one)).map((job) => [job.jobId, job])),
  });
const said = (...left: readonly Left[]): string => {
  try {
    const found = step(...left);
    return 'job' in found ? `${found.does} ${ids.indexOf(found.job.jobId)}` : found.does;
  } catch (fault) {
    return (fault as { code: string }).code;
  }
};

describe('after a crash', () => {
  it.each<[string, Left[], string]>([
    ['run committed, no job: an exact retry continues it', [], 'prepare 0'],
    ['job prepared, no hand-off: handed off', ['prepared'], 'hand_off 0'],
    ['claimed: waited for, never launched', ['launching'], 'wait 0'],
    ['running: waited for', ['running'], 'wait 0'],
    ['lost: nothing follows', ['unavailable'], 'end 0'],
    ['submitted: projected from what is stored', ['submitted'], 'project 0'],
    ['successor prepared, parent only submitted: the same successor', ['submitted', 'prepared'], 'project 0'],
    ['successor expired meanwhile: the parent is completed all the same', ['submitted', 'expired'], 'project 0'],
    ['parent completed, hand-off lost: one child handed off', ['completed', 'prepared'], 'hand_off 1'],
    ['parent completed, child not found: the same child', ['completed'], 'prepare 1'],
    ['payload damaged when the successor was prepared: withdrawn', ['failed', 'prepared'], 'withdraw 1'],
    ['and the run is over', ['failed', 'expired'], 'end 0'],
    ['the last specialist is submitted: the coordinator follows', ['completed', 'submitted'], 'project 1'],
    ['all done', ['completed', 'completed', 'completed'], 'end'],
  ])('%s', (_what, left, expected) => {
    expect(said(...left)).toBe(expected);
  });

  it('its own checks come first, in order', () => {
    const two = runOf(2, 1);
    const does = (...executed: number[]): RunStep =>
      nextStep({ run: two, executed: new Set(executed), jobs: new Map() });
    expect([does(), does(0), does(0, 1).does]).toEqual([
      { does: 'execute', place: 0 },
      { does: 'execute', place: 1 },
      'prepare',
    ]);
  });

  it('projection names the one successor', () => {
    expect(step('submitted')).toMatchObject({ next: { jobId: ids[1] } });
    expect(step('completed', 'submitted')).toMatchObject({
      next: { jobId: ids[2], role: 'coordinator', parent: null, stage: 'initial' },
    });
    expect(step('completed', 'completed', 'submitted')).toMatchObject({ next: null });
  });
});

describe('any state', () => {
  const all = LEFT.flatMap((a) => LEFT.flatMap((b) => LEFT.map((c) => [a, b, c] as const)));
  it.each(all)('%s, %s, %s', (...left) => {
    const answer = said(...left);
    const [does = '', place = ''] = answer.split(' ');
    const lost = left.findIndex((one) => ['unavailable', 'expired', 'failed'].includes(one));
    if (does === 'hand_off' || does === 'prepare') {
      expect(left.slice(0, Number(place)).every((one) => one === 'completed')).toBe(true);
      expect(left.slice(Number(place) + 1).every((one) => one === 'none')).toBe(true);
    }
    if (does === 'withdraw') expect(left[Number(place) - 1]).toBe('failed');
    if (lost >= 0) expect(['end', 'withdraw', 'project', 'journal_invalid']).toContain(does);
    // A child that somebody claimed before its parent was completed was never written in order.
    const early = left.findIndex(
      (one, at) => at > 0 && !['none', 'prepared', 'expired'].includes(one) && left[at - 1] !== 'completed',
    );
    if (early >= 0) expect(answer).toBe('journal_invalid');
  });
});

describe('a run', () => {
  it('has at most five launched checks, or as many as somebody sets, or is refused as a whole', () => {
    const record = runToRecord(runOf(1, 6));
    expect(() => runFromRecord(record)).toThrow(/at most 5 launched/);
    expect(plannedJobs(runFromRecord(record, 'run', 6))).toHaveLength(7);
    expect(plannedJobs(runFromRecord(runToRecord(runOf(1, 5))))).toHaveLength(6);
  });

  it('has one successor for each job, whoever asks', () => {
    expect(ids.map((id) => successorOf(run, id)?.jobId ?? null)).toEqual([...ids.slice(1), null]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(() => successorOf(run, '0'.repeat(32))).toThrow(/no job of this run/);
  });
});
