/**
 * The phases of an action, as people and scripts see it. Invariant: they are told apart from the phases of a checkpoint, and a
 * step between two of them is allowed only where the table says so; back out of a review only when somebody has reviewed.
 */
import type { RecoveryPhase } from './vocabulary';

export const ACTION_PHASES = [
  'queued',
  'preflight',
  'ready',
  'running',
  'waiting-review',
  'completed',
  'aborted',
] as const;
export type ActionPhase = (typeof ACTION_PHASES)[number];

export const ACTION_EDGES: Record<ActionPhase, readonly ActionPhase[]> = {
  queued: ['preflight', 'aborted'],
  preflight: ['ready', 'waiting-review', 'aborted'],
  ready: ['running', 'aborted'],
  running: ['waiting-review', 'completed', 'aborted'],
  'waiting-review': ['preflight', 'aborted'],
  completed: [],
  aborted: [],
};

export const ACTION_PHASE_ERROR_CODES = [
  'unknown_phase',
  'invalid_reviewed',
  'invalid_transition',
  'review_required',
] as const;
export type ActionPhaseErrorCode = (typeof ACTION_PHASE_ERROR_CODES)[number];

/** Its text is `field: code`, or the code alone. */
export class ActionPhaseError extends Error {
  override readonly name = 'ActionPhaseError';
  constructor(
    readonly code: ActionPhaseErrorCode,
    readonly fieldName: string | null = null,
  ) {
    super(fieldName === null ? code : `${fieldName}: ${code}`);
  }
}

/** Answers the target, or throws the first thing that is wrong with the step. */
export function nextActionPhase(current: unknown, target: unknown, reviewed: unknown = false): ActionPhase {
  const from = phaseOf(current, 'current');
  const to = phaseOf(target, 'target');
  if (typeof reviewed !== 'boolean') throw new ActionPhaseError('invalid_reviewed', 'reviewed');
  if (!ACTION_EDGES[from].includes(to)) throw new ActionPhaseError('invalid_transition');
  if (from === 'waiting-review' && to === 'preflight' && !reviewed) {
    throw new ActionPhaseError('review_required', 'reviewed');
  }
  return to;
}

function phaseOf(value: unknown, field: string): ActionPhase {
  const known = ACTION_PHASES.find((phase) => phase === value);
  if (known === undefined) throw new ActionPhaseError('unknown_phase', field);
  return known;
}

const AT_CHECKPOINT: Record<RecoveryPhase, ActionPhase> = {
  planned: 'ready',
  approval_recorded: 'ready',
  dispatching: 'running',
  reconciling: 'waiting-review',
  completed: 'completed',
  aborted: 'aborted',
};

export interface ActionPosition {
  /** Of the head; null while there is no checkpoint. */
  readonly checkpoint: RecoveryPhase | null;
  /** Somebody carries the plan. */
  readonly carried: boolean;
  /** A person is waited for, whatever the checkpoint says: it may lack its approval while it is only planned. */
  readonly waits: boolean;
}

/** Where an action stands by what is durable of it. */
export function actionPhaseAt({ checkpoint, carried, waits }: ActionPosition): ActionPhase {
  if (checkpoint !== null && ACTION_EDGES[AT_CHECKPOINT[checkpoint]].length === 0) return AT_CHECKPOINT[checkpoint];
  if (waits) return 'waiting-review';
  if (checkpoint !== null) return AT_CHECKPOINT[checkpoint];
  return carried ? 'preflight' : 'queued';
}
