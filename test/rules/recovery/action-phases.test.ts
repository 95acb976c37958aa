/**
 * The phases of an action.
 *
 * Held here:
 * - of all 49 pairs exactly the listed steps are allowed, with and without a review; none leads from a phase to itself;
 * - errors come in the contract's order, with its texts: unknown phases, then `reviewed`, then the step, then the review;
 * - only `true` is a review;
 * - every checkpoint phase has its action phase; an end stays an end although somebody seems to be waited for.
 */
import { describe, expect, it } from 'vitest';
import { RECOVERY_PHASES, isTerminalPhase } from '../../../src/rules/recovery';
import {
  ACTION_PHASES,
  ActionPhaseError,
  actionPhaseAt,
  nextActionPhase,
  type ActionPhase,
} from '../../../src/rules/recovery/action-phases';

/** As the contract lists them. */
const ALLOWED = new Set([
  'queued>preflight',
  'queued>aborted',
  'preflight>ready',
  'preflight>waiting-review',
  'preflight>aborted',
  'ready>running',
  'ready>aborted',
  'running>waiting-review',
  'running>completed',
  'running>aborted',
  'waiting-review>preflight',
  'waiting-review>aborted',
]);

function outcome(...step: readonly [unknown, unknown, unknown?]): string {
  try {
    return nextActionPhase(...step);
  } catch (fault) {
    if (fault instanceof ActionPhaseError) return fault.message;
    throw fault;
  }
}

const PAIRS = ACTION_PHASES.flatMap((from) => ACTION_PHASES.map((to) => [from, to] as const));

describe('a step', () => {
  it.each(PAIRS)('from %s to %s', (from, to) => {
    const allowed = ALLOWED.has(`${from}>${to}`);
    const needsReview = from === 'waiting-review' && to === 'preflight';
    expect(outcome(from, to, true)).toBe(allowed ? to : 'invalid_transition');
    const unreviewed = needsReview ? 'reviewed: review_required' : allowed ? to : 'invalid_transition';
    expect(outcome(from, to, false)).toBe(unreviewed);
    expect(outcome(from, to)).toBe(unreviewed);
  });

  it.each([[1], ['true'], [null], [{}], [[]], [Number.NaN]])('is not reviewed by %j', (reviewed) => {
    expect(outcome('waiting-review', 'preflight', reviewed)).toBe('reviewed: invalid_reviewed');
    expect(outcome('queued', 'completed', reviewed)).toBe('reviewed: invalid_reviewed');
  });

  it.each([['waiting_review'], ['Queued'], [''], [null], [undefined], [0], ['toString'], ['planned'], [['queued']]])(
    'knows no phase %j',
    (phase) => {
      expect(outcome(phase, phase, 'x')).toBe('current: unknown_phase');
      expect(outcome('queued', phase, 'x')).toBe('target: unknown_phase');
    },
  );
});

describe('of a checkpoint', () => {
  const at = (checkpoint: (typeof RECOVERY_PHASES)[number] | null, waits: boolean, carried = true): ActionPhase =>
    actionPhaseAt({ checkpoint, waits, carried });

  it('follows the table', () => {
    expect(RECOVERY_PHASES.map((phase) => [phase, at(phase, false)])).toEqual([
      ['planned', 'ready'],
      ['approval_recorded', 'ready'],
      ['dispatching', 'running'],
      ['reconciling', 'waiting-review'],
      ['completed', 'completed'],
      ['aborted', 'aborted'],
    ]);
    expect([at(null, false, false), at(null, false), at(null, true)]).toEqual([
      'queued',
      'preflight',
      'waiting-review',
    ]);
  });

  it.each(RECOVERY_PHASES)('waits at %s only where it has not ended', (phase) => {
    expect(at(phase, true)).toBe(isTerminalPhase(phase) ? phase : 'waiting-review');
  });
});
