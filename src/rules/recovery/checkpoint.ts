/**
 * One link of a lineage: the state of a run, sealed by a digest over all of its other fields. Invariant: a checkpoint
 * exists only if every rule about it holds, its own digest included; it never changes afterwards.
 */
import { equalsText, isBytes } from './bytes';
import { requireCheckpointRules } from './checkpoint-rules';
import { EffectRecord, reuseKnown, writeEffect } from './effect-record';
import { refuse } from './errors';
import { requireDigest, requireFields, requireWord } from './fields';
import { isGovernedId, isRunId, parseGovernedId, parseRunId } from './identifiers';
import { parseJson } from './json-reader';
import { type JsonObject, type JsonValue } from './json-value';
import { RECOVERY_CHECKPOINT_SCHEMA_VERSION } from './limits';
import { Seal } from './sealed';
import { sha256Digest } from './sha256';
import { isWord, RECOVERY_PHASES, type RecoveryPhase } from './vocabulary';

export interface RecoveryCheckpoint {
  readonly schemaVersion: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly sequence: bigint;
  readonly phase: RecoveryPhase;
  readonly planDigest: string;
  readonly approvalActionDigest: string | null;
  readonly approvalReceiptDigest: string | null;
  readonly approvalExpiresAt: bigint | null;
  readonly previousCheckpointDigest: string | null;
  readonly recoveryEvidenceDigest: string | null;
  readonly effects: readonly EffectRecord[];
  readonly checkpointDigest: string;
}

/** The fields of a checkpoint without its digest; absent optional ones are `null`. */
export interface RecoveryCheckpointInput {
  /** @default RECOVERY_CHECKPOINT_SCHEMA_VERSION */
  readonly schemaVersion?: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly sequence: bigint;
  readonly phase: RecoveryPhase;
  readonly planDigest: string;
  readonly approvalActionDigest?: string | null;
  readonly approvalReceiptDigest?: string | null;
  readonly approvalExpiresAt?: bigint | null;
  readonly previousCheckpointDigest?: string | null;
  readonly recoveryEvidenceDigest?: string | null;
  readonly effects: readonly EffectRecord[];
}

export interface ParseOptions {
  /** An earlier checkpoint of the same run: effects that did not change are taken from it, without hashing again. */
  readonly known?: RecoveryCheckpoint | null;
}

type Unsealed = Omit<RecoveryCheckpoint, 'checkpointDigest'>;

const FIELDS: ReadonlySet<string> = new Set([
  'schema_version',
  'workflow_id',
  'run_id',
  'sequence',
  'phase',
  'plan_digest',
  'approval_action_digest',
  'approval_receipt_digest',
  'approval_expires_at',
  'previous_checkpoint_digest',
  'recovery_evidence_digest',
  'effects',
  'checkpoint_digest',
]);

const seal = new Seal<RecoveryCheckpoint>();

export const RecoveryCheckpoint = {
  /** Makes a checkpoint and seals it with its digest. */
  create(input: RecoveryCheckpointInput): RecoveryCheckpoint {
    if (typeof input.workflowId !== 'string') refuse('workflow_id', 'invalid_workflow_id');
    parseGovernedId(input.workflowId, 'workflow');
    if (typeof input.runId !== 'string') refuse('run_id', 'invalid_run_id');
    parseRunId(input.runId);
    const unsealed: Unsealed = {
      schemaVersion: input.schemaVersion ?? RECOVERY_CHECKPOINT_SCHEMA_VERSION,
      workflowId: input.workflowId,
      runId: input.runId,
      sequence: input.sequence,
      phase: requireWord(RECOVERY_PHASES, input.phase, 'phase', 'unknown_phase'),
      planDigest: input.planDigest,
      approvalActionDigest: input.approvalActionDigest ?? null,
      approvalReceiptDigest: input.approvalReceiptDigest ?? null,
      approvalExpiresAt: input.approvalExpiresAt ?? null,
      previousCheckpointDigest: input.previousCheckpointDigest ?? null,
      recoveryEvidenceDigest: input.recoveryEvidenceDigest ?? null,
      effects: Array.isArray(input.effects) ? Object.freeze([...input.effects]) : input.effects,
    };
    requireCheckpointRules(unsealed);
    return seal.seal({ ...unsealed, checkpointDigest: sha256Digest(write(unsealed, null)) });
  },

  fromJson(source: string | Uint8Array, options: ParseOptions = {}): RecoveryCheckpoint {
    return RecoveryCheckpoint.fromDict(parseJson(source, 'checkpoint'), options);
  },

  /** Reads a checkpoint from parsed JSON, where integers are `bigint`. */
  fromDict(value: unknown, options: ParseOptions = {}): RecoveryCheckpoint {
    const dict = requireFields(value, 'checkpoint', FIELDS);
    const { effects: items, workflow_id: workflowId, run_id: runId, phase } = dict;
    if (!Array.isArray(items)) return refuse('effects', 'invalid_effects');
    if (!isGovernedId(workflowId, 'workflow') || !isRunId(runId) || !isWord(RECOVERY_PHASES, phase)) {
      return refuse('checkpoint', 'invalid_checkpoint');
    }
    const known = options.known?.effects ?? [];
    const unsealed: Unsealed = {
      schemaVersion: dict.schema_version as string,
      workflowId,
      runId,
      sequence: dict.sequence as bigint,
      phase,
      planDigest: dict.plan_digest as string,
      approvalActionDigest: dict.approval_action_digest as string | null,
      approvalReceiptDigest: dict.approval_receipt_digest as string | null,
      approvalExpiresAt: dict.approval_expires_at as bigint | null,
      previousCheckpointDigest: dict.previous_checkpoint_digest as string | null,
      recoveryEvidenceDigest: dict.recovery_evidence_digest as string | null,
      effects: Object.freeze(
        (items as readonly JsonValue[]).map((item, index) => reuseKnown(EffectRecord.fromDict(item), known[index])),
      ),
    };
    requireCheckpointRules(unsealed);
    const digest = requireDigest(dict.checkpoint_digest, 'checkpoint_digest');
    if (sha256Digest(write(unsealed, null)) !== digest) refuse('checkpoint_digest', 'checkpoint_digest_mismatch');
    return seal.seal({ ...unsealed, checkpointDigest: digest });
  },

  toDict(checkpoint: RecoveryCheckpoint): JsonObject {
    return {
      schema_version: checkpoint.schemaVersion,
      workflow_id: checkpoint.workflowId,
      run_id: checkpoint.runId,
      sequence: checkpoint.sequence,
      phase: checkpoint.phase,
      plan_digest: checkpoint.planDigest,
      approval_action_digest: checkpoint.approvalActionDigest,
      approval_receipt_digest: checkpoint.approvalReceiptDigest,
      approval_expires_at: checkpoint.approvalExpiresAt,
      previous_checkpoint_digest: checkpoint.previousCheckpointDigest,
      recovery_evidence_digest: checkpoint.recoveryEvidenceDigest,
      effects: checkpoint.effects.map((effect) => EffectRecord.toDict(effect)),
      checkpoint_digest: checkpoint.checkpointDigest,
    };
  },

  /** Canonical JSON: exactly the content of its file. */
  toJson(checkpoint: RecoveryCheckpoint): string {
    return write(checkpoint, checkpoint.checkpointDigest);
  },
} as const;

export function isCheckpoint(value: unknown): value is RecoveryCheckpoint {
  return seal.holds(value);
}

/** Whether a file holds exactly the canonical bytes of the checkpoint that was read from it. */
export function isCanonicalCheckpoint(source: string | Uint8Array, checkpoint: RecoveryCheckpoint): boolean {
  const text = RecoveryCheckpoint.toJson(checkpoint);
  return isBytes(source) ? equalsText(source, text) : source === text;
}

/** The fields in key order, written directly: every value is plain ASCII. The digest's own preimage leaves it out. */
function write(checkpoint: Unsealed, digest: string | null): string {
  const quoted = (text: string | null): string => (text === null ? 'null' : `"${text}"`);
  const sealed = digest === null ? '' : `"checkpoint_digest":"${digest}",`;
  let effects = '';
  for (const effect of checkpoint.effects) effects += (effects === '' ? '' : ',') + writeEffect(effect);
  return `{"approval_action_digest":${quoted(checkpoint.approvalActionDigest)},"approval_expires_at":${checkpoint.approvalExpiresAt},"approval_receipt_digest":${quoted(checkpoint.approvalReceiptDigest)},${sealed}"effects":[${effects}],"phase":"${checkpoint.phase}","plan_digest":"${checkpoint.planDigest}","previous_checkpoint_digest":${quoted(checkpoint.previousCheckpointDigest)},"recovery_evidence_digest":${quoted(checkpoint.recoveryEvidenceDigest)},"run_id":"${checkpoint.runId}","schema_version":"${checkpoint.schemaVersion}","sequence":${checkpoint.sequence},"workflow_id":"${checkpoint.workflowId}"}`;
}
