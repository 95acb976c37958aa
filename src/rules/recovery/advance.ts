/**
 * The checkpoint that a decision leads to.
 */
import { type RecoveryCheckpoint } from './checkpoint';
import { type RecoveryDecision } from './decision';

/** The next checkpoint; the same one back when its phase is terminal. */
export function advanceCheckpoint(_checkpoint: RecoveryCheckpoint, _decision: RecoveryDecision): RecoveryCheckpoint {
  throw new Error('not built');
}
