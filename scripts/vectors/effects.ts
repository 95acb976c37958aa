/**
 * effects.json: idempotency keys, identifiers, single effect records.
 */
import {
  canonicalJson,
  deriveIdempotencyKey,
  EffectRecord,
  idempotencyPreimage,
  parseActionId,
  parseGovernedId,
  parseRunId,
  type CompensationLimit,
  type EffectKind,
  type GovernedId,
} from '../../src/rules/recovery';
import { judge, type Answer, type RowHead, type RowResult } from './judge';
import { untag, type Tagged } from './tagged';

const FILE = 'effects.json';

interface Identity {
  readonly run_id: string;
  readonly action_id: string;
  readonly tool_id: string;
  readonly kind: string;
  readonly operation_digest: string;
}

interface IdempotencyCase extends RowHead, Identity {
  readonly preimage?: string;
  readonly idempotency_key?: string;
}

type IdentifierType = 'run_id' | 'action_id' | 'tool_id' | 'workflow_id';

interface IdentifierCase extends RowHead {
  readonly type: IdentifierType;
  readonly value: Tagged;
  readonly components?: Answer;
}

interface EffectCase extends RowHead {
  readonly input: Identity & {
    readonly ordinal: string;
    readonly approval_required: boolean;
    readonly compensation_limit: string;
  };
  readonly canonical?: string;
}

interface Effects {
  readonly idempotency: readonly IdempotencyCase[];
  readonly identifiers: readonly IdentifierCase[];
  readonly effect_records: readonly EffectCase[];
}

export function check({ idempotency, identifiers, effect_records: records }: Effects): RowResult[] {
  return [
    ...idempotency.map((row) =>
      judge(FILE, row, { preimage: row.preimage, key: row.idempotency_key }, () => {
        const identity = toIdentity(row);
        const key = deriveIdempotencyKey(identity);
        return { preimage: idempotencyPreimage(identity.runId, identity), key };
      }),
    ),
    ...identifiers.map((row) => judge(FILE, row, row.components ?? {}, () => PARSERS[row.type](untag(row.value)))),
    ...records.map((row) =>
      judge(FILE, row, { canonical: row.canonical }, () => {
        const effect = EffectRecord.create({
          ...toIdentity(row.input),
          ordinal: BigInt(row.input.ordinal),
          approvalRequired: row.input.approval_required,
          compensationLimit: row.input.compensation_limit as CompensationLimit,
        });
        return { canonical: canonicalJson(EffectRecord.toDict(effect)) };
      }),
    ),
  ];
}

function toIdentity(row: Identity) {
  return {
    runId: row.run_id,
    actionId: row.action_id,
    toolId: row.tool_id,
    kind: row.kind as EffectKind,
    operationDigest: row.operation_digest,
  };
}

const PARSERS: Readonly<Record<IdentifierType, (value: unknown) => Answer>> = {
  run_id: (value) => {
    parseRunId(value);
    return {};
  },
  action_id: (value) => {
    parseActionId(value);
    return {};
  },
  tool_id: (value) => components(parseGovernedId(value, 'tool')),
  workflow_id: (value) => components(parseGovernedId(value, 'workflow')),
};

function components({ kind, namespace, local, version }: GovernedId): Answer {
  return { kind, namespace, local_name: local, version };
}
