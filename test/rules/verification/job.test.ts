/**
 * The machine of a job.
 *
 * Held here:
 * - what every command makes of a job in every state is what a written table says, and nothing else;
 * - the authorization ends at its very millisecond, at hand-off, claim, fetch, sweep, and at a submission that never ran;
 * - under any commands in any order: one claim, one submission, no way out of an end, no launch after the claim; as an oracle of its
 *   own says, step by step;
 * - every state that is not an end has a timer, and what follows ends it or frees it.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  prepareJob,
  stepJob,
  type Job,
  type JobCommand,
  type JobCommandName,
} from '../../../src/rules/verification/job';
import {
  ENDINGS,
  JOB_REASONS,
  JOB_STATES,
  isTerminal,
  mayMove,
  type JobState,
} from '../../../src/rules/verification/job-states';
import { timerOf } from '../../../src/rules/verification/job-timers';
import { digest, job as id } from './support';

const END = 1_000_000;
const fresh = prepareJob(id(1), digest('context'), END);
const IN: Record<JobState, Job> = {
  prepared: fresh,
  launching: { ...fresh, state: 'launching', claim: 'a' },
  running: { ...fresh, state: 'running', claim: 'a' },
  submitted: { ...fresh, state: 'submitted', claim: 'a', submission: digest('s') },
  completed: { ...fresh, state: 'completed', claim: 'a', submission: digest('s'), next: id(2) },
  unavailable: { ...fresh, state: 'unavailable', claim: 'a', reason: 'launch_outcome_unknown' },
  failed: { ...fresh, state: 'failed', claim: 'a', submission: digest('s'), reason: 'job_processing_failed' },
};

const COMMANDS: { readonly [Name in JobCommandName]: Extract<JobCommand, { does: Name }> } = {
  hand_off: { does: 'hand_off', now: END - 1 },
  hand_off_failed: { does: 'hand_off_failed' },
  claim: { does: 'claim', owner: 'a', now: END - 1 },
  started: { does: 'started', owner: 'a' },
  refuse_launch: { does: 'refuse_launch', owner: 'a', code: 'no_credit' },
  refuse_receipt: { does: 'refuse_receipt' },
  fetch: { does: 'fetch', now: END - 1, contextDigest: digest('context') },
  submit: { does: 'submit', digest: digest('s'), now: END - 1 },
  lease: { does: 'lease', owner: 'p' },
  project: { does: 'project', owner: 'p', digest: digest('s'), next: id(2) },
  refuse_projection: { does: 'refuse_projection', owner: 'p' },
  expire: { does: 'expire', now: END },
  launch_lapsed: { does: 'launch_lapsed' },
  worker_lost: { does: 'worker_lost' },
  deadline_passed: { does: 'deadline_passed' },
  lease_lapsed: { does: 'lease_lapsed', owner: 'p' },
};

/** `=` same, `!` refused with job_closed, `#` refused with record_conflict, else the state that it moves to. */
const TABLE: Record<JobCommandName, readonly [string, string, string, string, string, string, string]> = {
  // prepared, launching, running, submitted, completed, unavailable, failed
  hand_off: ['=', '!', '!', '!', '!', '!', '!'],
  hand_off_failed: ['prepared', '!', '!', '!', '!', '!', '!'],
  claim: ['launching', '=', '!', '!', '!', '!', '!'],
  started: ['!', 'running', '=', '=', '=', '=', '='],
  refuse_launch: ['!', 'unavailable', '!', '!', '!', '!', '!'],
  refuse_receipt: ['unavailable', 'unavailable', '!', '!', '!', '!', '!'],
  fetch: ['=', '=', '=', '!', '!', '!', '!'],
  submit: ['submitted', 'submitted', 'submitted', '=', '=', '!', '='],
  lease: ['!', '!', '!', 'submitted', '!', '!', '!'],
  project: ['!', '!', '!', '!', '=', '!', '!'],
  refuse_projection: ['!', '!', '!', '!', '!', '!', '='],
  expire: ['unavailable', '=', '=', '=', '=', '=', '='],
  launch_lapsed: ['=', 'unavailable', '=', '=', '=', '=', '='],
  worker_lost: ['=', '=', 'unavailable', '=', '=', '=', '='],
  deadline_passed: ['=', '=', 'unavailable', '=', '=', '=', '='],
  lease_lapsed: ['=', '=', '=', '=', '=', '=', '='],
};

const said = (job: Job, command: JobCommand): string => {
  const step = stepJob(job, command);
  if (step.verdict === 'same') return '=';
  if (step.verdict === 'refused') return step.code === 'record_conflict' ? '#' : '!';
  return step.job.state;
};
const names = Object.keys(COMMANDS) as JobCommandName[];

describe('the table', () => {
  it.each(names.flatMap((name) => JOB_STATES.map((state, at) => [name, state, TABLE[name][at]] as const)))(
    '%s in %s: %s',
    (name, state, expected) => {
      expect(said(IN[state], COMMANDS[name])).toBe(expected);
    },
  );

  it.each<[string, Job, JobCommand, string]>([
    ['a claim of somebody else', IN.launching, { does: 'claim', owner: 'b', now: 0 }, '!'],
    ['a start by somebody else', IN.launching, { does: 'started', owner: 'b' }, '!'],
    ['a refusal by somebody else', IN.launching, { does: 'refuse_launch', owner: 'b', code: 'x' }, '!'],
    ['another submission', IN.submitted, { does: 'submit', digest: digest('t'), now: 0 }, '#'],
    ['another submission after the end', IN.completed, { does: 'submit', digest: digest('t'), now: 0 }, '#'],
    ['another context', IN.running, { does: 'fetch', now: 0, contextDigest: digest('x') }, 'failed'],
    ['a lease that somebody has', { ...IN.submitted, lease: 'q' }, COMMANDS.lease, '!'],
    ['a lease that we have', { ...IN.submitted, lease: 'p' }, COMMANDS.lease, '='],
    ['a projection', { ...IN.submitted, lease: 'p' }, COMMANDS.project, 'completed'],
    ['a refused projection', { ...IN.submitted, lease: 'p' }, COMMANDS.refuse_projection, 'failed'],
    ['another successor', IN.completed, { ...COMMANDS.project, next: id(3) }, '#'],
    ['a lapsed lease', { ...IN.submitted, lease: 'p' }, COMMANDS.lease_lapsed, 'submitted'],
    ['a lease that lapsed for somebody else', { ...IN.submitted, lease: 'q' }, COMMANDS.lease_lapsed, '='],
    ['the last hand-off', { ...fresh, tries: 2 }, COMMANDS.hand_off_failed, 'unavailable'],
  ])('%s', (_what, job, command, expected) => {
    expect(said(job, command)).toBe(expected);
  });

  it('ends a submission whose digest no longer matches, for good', () => {
    const step = stepJob({ ...IN.submitted, lease: 'p' }, { ...COMMANDS.project, digest: digest('other') });
    expect(step).toMatchObject({ verdict: 'moved', job: { state: 'failed', reason: 'submission_integrity_failed' } });
    for (const name of names) expect(said(step.job, COMMANDS[name])).toMatch(/^[=!#]$/);
  });

  it('leads by no move out of an end, and names each ending once', () => {
    for (const from of JOB_STATES.filter(isTerminal)) {
      for (const to of JOB_STATES) for (const why of [null, ...JOB_REASONS]) expect(mayMove(from, to, why)).toBe(false);
    }
    for (const reason of JOB_REASONS) {
      for (const from of JOB_STATES) {
        const { to } = ENDINGS[reason];
        expect(mayMove(from, to, reason)).toBe(ENDINGS[reason].from.includes(from));
        expect(mayMove(from, to, null)).toBe(false);
      }
    }
  });
});

describe('the authorization ends at its millisecond', () => {
  const cases: readonly (readonly [string, Job, (now: number) => JobCommand])[] = [
    ['hand-off', IN.prepared, (now) => ({ does: 'hand_off', now })],
    ['claim', IN.prepared, (now) => ({ does: 'claim', owner: 'a', now })],
    ['fetch', IN.running, (now) => ({ does: 'fetch', now, contextDigest: digest('context') })],
    ['submission of a job that never ran', IN.prepared, (now) => ({ does: 'submit', digest: digest('s'), now })],
    ['sweep', IN.prepared, (now) => ({ does: 'expire', now })],
  ];
  it.each(cases)('%s', (_what, job, command) => {
    const at = [-1, 0, 1].map((ms) => stepJob(job, command(END + ms)).job.reason === 'authorization_expired');
    expect(at).toEqual([false, true, true]);
  });

  it('but not of what was launched in time: its result is taken', () => {
    for (const state of ['launching', 'running'] as const) {
      expect(said(IN[state], { does: 'submit', digest: digest('s'), now: END + 1 })).toBe('submitted');
    }
  });
});

describe('under any commands', () => {
  const owner = fc.constantFrom('a', 'b');
  const text = fc.constantFrom(digest('s'), digest('t'));
  const now = fc.constantFrom(END - 1, END);
  const context = fc.constantFrom(digest('context'), digest('context'), digest('other'));
  const command: fc.Arbitrary<JobCommand> = fc.oneof(
    fc.record({ does: fc.constantFrom('hand_off' as const, 'expire' as const), now }),
    fc.record({ does: fc.constant('claim' as const), owner, now: fc.constant(END - 1) }),
    fc.record({ does: fc.constantFrom('started' as const, 'lease' as const, 'lease_lapsed' as const), owner }),
    fc.record({ does: fc.constant('fetch' as const), now, contextDigest: context }),
    fc.record({ does: fc.constant('submit' as const), digest: text, now }),
    fc.record({ does: fc.constant('project' as const), owner, digest: text, next: fc.constantFrom(id(2), null) }),
    fc.record({ does: fc.constant('refuse_projection' as const), owner }),
    fc.record({ does: fc.constant('refuse_launch' as const), owner, code: fc.constant('x') }),
    fc.constantFrom<JobCommand>(
      { does: 'hand_off_failed' },
      { does: 'refuse_receipt' },
      { does: 'launch_lapsed' },
      { does: 'worker_lost' },
      { does: 'deadline_passed' },
    ),
  );

  it('does what the oracle says', () => {
    fc.assert(
      fc.property(fc.array(command, { minLength: 1, maxLength: 24 }), (commands) => {
        const oracle = new Oracle();
        let job = fresh;
        let claims = 0;
        for (const one of commands) {
          const before = job;
          const step = stepJob(job, one);
          job = step.job;
          if (step.verdict !== 'moved' && job !== before) throw new Error('changed without a move');
          if (step.verdict === 'moved' && one.does === 'claim' && job.state === 'launching') claims += 1;
          oracle.sees(one);
          const { state, reason, claim, submission } = job;
          expect({ state, reason, claim, submission }).toEqual(oracle.now());
          if (isTerminal(before.state)) expect(job).toBe(before);
        }
        expect(claims).toBeLessThanOrEqual(1);
      }),
      { numRuns: 3_000, seed: 7 },
    );
  });
});

/** The same, as one would say it in prose: what has happened so far, and what that makes the job. */
class Oracle {
  private over: [string, string | null] | null = null;
  private owner: string | null = null;
  private ran = false;
  private brought: string | null = null;
  private projector: string | null = null;
  private failures = 0;

  now(): object {
    const phase =
      this.brought !== null ? 'submitted' : this.ran ? 'running' : this.owner !== null ? 'launching' : 'prepared';
    const [state, reason] = this.over ?? [phase, null];
    return { state, reason, claim: this.owner, submission: this.brought };
  }

  sees(command: JobCommand): void {
    if (this.over !== null) return;
    const waiting = this.owner === null && this.brought === null;
    const working = this.owner !== null && this.brought === null;
    const late = 'now' in command && command.now >= END;
    switch (command.does) {
      case 'hand_off':
      case 'expire':
        if (waiting && late) this.ends('unavailable', 'authorization_expired');
        return;
      case 'hand_off_failed':
        if (waiting && (this.failures += 1) === 3) this.ends('unavailable', 'dispatch_exhausted');
        return;
      case 'claim':
        if (waiting) this.owner = command.owner;
        return;
      case 'started':
        if (working && command.owner === this.owner) this.ran = true;
        return;
      case 'refuse_launch':
        if (working && !this.ran && command.owner === this.owner) this.ends('unavailable', 'provider_refused');
        return;
      case 'refuse_receipt':
        if (this.brought === null && !this.ran) this.ends('unavailable', 'authorization_invalid');
        return;
      case 'fetch':
        if (this.brought !== null) return;
        if (late) this.ends('unavailable', 'authorization_expired');
        else if (command.contextDigest !== digest('context')) this.ends('failed', 'context_integrity_failed');
        return;
      case 'submit':
        if (this.brought !== null) return;
        if (waiting && late) this.ends('unavailable', 'authorization_expired');
        else this.brought = command.digest;
        return;
      case 'lease':
        if (this.brought !== null) this.projector ??= command.owner;
        return;
      case 'lease_lapsed':
        if (this.projector === command.owner) this.projector = null;
        return;
      case 'project':
        if (this.brought === null || this.projector !== command.owner) return;
        if (command.digest === this.brought) this.ends('completed', null);
        else this.ends('failed', 'submission_integrity_failed');
        return;
      case 'refuse_projection':
        if (this.brought !== null && this.projector === command.owner) this.ends('failed', 'job_processing_failed');
        return;
      case 'launch_lapsed':
        if (working && !this.ran) this.ends('unavailable', 'launch_outcome_unknown');
        return;
      case 'worker_lost':
        if (working && this.ran) this.ends('unavailable', 'worker_exited_before_submission');
        return;
      case 'deadline_passed':
        if (working && this.ran) this.ends('unavailable', 'running_deadline_exceeded');
        return;
    }
  }

  private ends(state: string, reason: string | null): void {
    this.over = [state, reason];
  }
}

describe('a timer', () => {
  it.each(JOB_STATES)('of %s', (state) => {
    const job = { ...IN[state], lease: state === 'submitted' ? 'p' : null };
    const timer = timerOf(job, { runningDeadlineMs: 60_000 }, END - 5_000);
    if (isTerminal(state)) return expect(timer).toBeNull();
    const after = stepJob(job, (timer as NonNullable<typeof timer>).then(END)).job;
    expect(state === 'submitted' ? after.lease === null : isTerminal(after.state)).toBe(true);
    expect(timer?.ms).toBe(
      { prepared: 5_000, launching: 120_000, running: 60_000, submitted: 600_000 }[state as string],
    );
  });
});
