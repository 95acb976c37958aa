/**
 * decisions.json: recovery, the advance that follows and what an append of it would answer; single decisions and
 * observations.
 */
import {
  advanceCheckpoint,
  appendOutcome,
  EffectObservation,
  RecoveryCheckpoint,
  RecoveryDecision,
  recoverWorkflow,
  type EffectObservationInput,
  type RecoveryDecisionInput,
} from '../../src/rules/recovery';
import { answerOf, judge, textOf, type Answer, type RowHead, type RowResult } from './judge';
import { untag, type Tagged } from './tagged';

const FILE = 'decisions.json';

interface ObservationFields {
  readonly action_id: string;
  readonly operation_digest: string;
  readonly idempotency_key: string;
  readonly state: string;
  readonly commit_evidence_digest: string | null;
}

interface DecisionFields {
  readonly schema_version: string;
  readonly disposition: string;
  readonly reason: string;
  readonly source_checkpoint_digest: string;
  readonly retry_effect_ids: readonly string[];
  readonly retry_idempotency_keys: readonly string[];
  readonly committed_effects: readonly { readonly action_id: string; readonly commit_evidence_digest: string }[];
  readonly compensation_effect_ids: readonly string[];
  readonly evidence_digest: string;
}

interface AdvanceResult {
  readonly advanced?: string;
  readonly advanced_digest?: string;
  readonly advance_error?: string;
  readonly append?: string;
}

interface Case extends RowHead, AdvanceResult {
  readonly lineage: string;
  readonly observations: readonly ObservationFields[];
  readonly now: Tagged;
  readonly disposition?: string;
  readonly reason?: string;
  readonly decision?: string;
  readonly evidence_digest?: string;
}

interface Decisions {
  readonly lineages: Readonly<Record<string, readonly string[]>>;
  readonly cases: readonly Case[];
  readonly advance: readonly (RowHead &
    AdvanceResult & { readonly checkpoint: string; readonly decision: DecisionFields })[];
  readonly decision_objects: readonly (RowHead & { readonly fields: DecisionFields; readonly canonical?: string })[];
  readonly observation_objects: readonly (RowHead & { readonly fields: ObservationFields })[];
}

export function check(file: Decisions): RowResult[] {
  return [
    ...file.cases.map((row) => {
      const { disposition, reason, decision, evidence_digest: evidence } = row;
      return judge(FILE, row, { disposition, reason, decision, evidence, ...expectedAdvance(row) }, () => {
        const lineage = (file.lineages[row.lineage] as readonly string[]).map((text) =>
          RecoveryCheckpoint.fromJson(text),
        );
        const observations = row.observations.map(toObservation);
        const made = recoverWorkflow(lineage, observations, { now: untag(row.now) as bigint });
        return {
          disposition: made.disposition,
          reason: made.reason,
          decision: RecoveryDecision.toJson(made),
          evidence: made.evidenceDigest,
          ...advance(row, lineage, made),
        };
      });
    }),
    ...file.advance.map((row) =>
      judge(FILE, row, expectedAdvance(row), () => {
        const checkpoint = RecoveryCheckpoint.fromJson(row.checkpoint);
        return advance(row, [checkpoint], toDecision(row.decision));
      }),
    ),
    ...file.decision_objects.map((row) =>
      judge(FILE, row, { canonical: row.canonical }, () => ({
        canonical: RecoveryDecision.toJson(toDecision(row.fields)),
      })),
    ),
    ...file.observation_objects.map((row) =>
      judge(FILE, row, {}, () => {
        toObservation(row.fields);
        return {};
      }),
    ),
  ];
}

function expectedAdvance(row: AdvanceResult): Answer {
  return {
    advanced: row.advanced,
    digest: row.advanced_digest,
    advance_error: row.advance_error,
    append: row.append,
  };
}

/** Only the parts that the row states: exact bytes are stored for some rows, an append outcome for whole lineages. */
function advance(row: AdvanceResult, lineage: readonly RecoveryCheckpoint[], decision: RecoveryDecision): Answer {
  const head = lineage[lineage.length - 1] as RecoveryCheckpoint;
  let next: RecoveryCheckpoint;
  try {
    next = advanceCheckpoint(head, decision);
  } catch (fault) {
    return { advance_error: textOf(fault) };
  }
  return {
    advanced: row.advanced === undefined ? undefined : next === head ? 'same' : RecoveryCheckpoint.toJson(next),
    digest: row.advanced_digest === undefined ? undefined : next.checkpointDigest,
    append: row.append === undefined ? undefined : appended(lineage, next),
  };
}

function appended(lineage: readonly RecoveryCheckpoint[], next: RecoveryCheckpoint): unknown {
  return answerOf(() => (appendOutcome(lineage, next), { error: 'ok' })).error;
}

function toObservation(fields: ObservationFields): EffectObservation {
  return EffectObservation.create({
    actionId: fields.action_id,
    operationDigest: fields.operation_digest,
    idempotencyKey: fields.idempotency_key,
    state: fields.state,
    commitEvidenceDigest: fields.commit_evidence_digest,
  } as EffectObservationInput);
}

function toDecision(fields: DecisionFields): RecoveryDecision {
  return RecoveryDecision.create({
    schemaVersion: fields.schema_version,
    disposition: fields.disposition,
    reason: fields.reason,
    sourceCheckpointDigest: fields.source_checkpoint_digest,
    retryEffectIds: fields.retry_effect_ids,
    retryIdempotencyKeys: fields.retry_idempotency_keys,
    committedEffects: fields.committed_effects.map((effect) => ({
      actionId: effect.action_id,
      commitEvidenceDigest: effect.commit_evidence_digest,
    })),
    compensationEffectIds: fields.compensation_effect_ids,
    evidenceDigest: fields.evidence_digest,
  } as RecoveryDecisionInput);
}
