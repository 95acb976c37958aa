/**
 * The recovery contract: checkpoints, lineages, decisions and retirement, byte-compatible with its reference.
 *
 * Invariant: everything here is a pure function of its arguments. It runs alike in the workflow sandbox, in Node and in a
 * browser, and refuses with a `RecoveryError` only.
 */
export { advanceCheckpoint } from './advance';
export { appendOutcome, sameCheckpoint, type AppendOutcome } from './append';
export { canonicalJson } from './canonical-json';
export {
  checkpointFileName,
  JOURNAL_LOCK_NAME,
  openCheckpointFolder,
  readCheckpointFolder,
  RETIRED_FILE_NAME,
  TEMPORARY_PREFIX,
  type CheckpointFile,
  type CheckpointFolder,
  type CheckpointFolderView,
  type EntryKind,
  type OpenFolderOptions,
} from './checkpoint-folder';
export {
  isCanonicalCheckpoint,
  RecoveryCheckpoint,
  type ParseOptions,
  type RecoveryCheckpointInput,
} from './checkpoint';
export { RecoveryDecision, type CommittedEffect, type RecoveryDecisionInput } from './decision';
export { commitEffect, EffectRecord, type EffectRecordInput } from './effect-record';
export { RECOVERY_ERROR_CODES, RecoveryError, type RecoveryErrorCode } from './errors';
export { deriveIdempotencyKey, idempotencyPreimage, type EffectIdentity } from './idempotency';
export {
  GOVERNED_KINDS,
  isActionId,
  isDigest,
  isGovernedId,
  isIdempotencyKey,
  isRunId,
  parseActionId,
  parseGovernedId,
  parseRunId,
  type GovernedId,
  type GovernedKind,
} from './identifiers';
export { parseJson } from './json-reader';
export { isJsonObject, type JsonObject, type JsonValue } from './json-value';
export {
  MAX_CHECKPOINT_BYTES,
  MAX_INTEGER,
  RECOVERY_CHECKPOINT_SCHEMA_VERSION,
  RECOVERY_EVIDENCE_SCHEMA_VERSION,
  RETIRED_JOURNAL_SCHEMA_VERSION,
  RETIREMENT_PLAN_SCHEMA_VERSION,
} from './limits';
export { PHASE_EDGES, validateCheckpointLineage, validateSuccessor } from './lineage';
export { EffectObservation, type EffectObservationInput } from './observation';
export { recoverFromHead, recoverWorkflow } from './recover';
export { RetiredJournalRecord, type RetiredJournalRecordInput } from './retired-record';
export {
  deriveJournalBinding,
  JournalRetentionPolicy,
  planRetirement,
  requireConfirmedRetirement,
  type RetirementConfirmation,
  type RetirementInput,
} from './retirement';
export { JournalRetirementPlan, type JournalRetirementPlanInput } from './retirement-plan';
export { sha256Digest, sha256Hex } from './sha256';
export {
  COMPENSATION_LIMITS,
  EFFECT_KINDS,
  EFFECT_STATES,
  isTerminalPhase,
  OBSERVATION_STATES,
  RECOVERY_DISPOSITIONS,
  RECOVERY_PHASES,
  RECOVERY_REASONS,
  type CompensationLimit,
  type EffectKind,
  type EffectState,
  type ObservationState,
  type RecoveryDisposition,
  type RecoveryPhase,
  type RecoveryReason,
  type TerminalPhase,
} from './vocabulary';
