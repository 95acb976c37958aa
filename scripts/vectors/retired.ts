/**
 * retired.json, the rows without a folder: records read and refused, and recovery of a retired journal. The plans, which
 * need files, are run by `retired-plans`.
 */
import { RecoveryDecision, recoverWorkflow, RetiredJournalRecord } from '../../src/rules/recovery';
import { judge, type RowHead, type RowResult } from './judge';
import { rawBytes, untag, type RawBytes, type Tagged } from './tagged';

const FILE = 'retired.json';

interface Recover extends RowHead {
  readonly record: string;
  readonly now: Tagged;
  readonly disposition?: string;
  readonly reason?: string;
  readonly decision?: string;
  readonly evidence_digest?: string;
}

interface Retired {
  readonly records_accepted: readonly (RowHead & RawBytes & { readonly digest: string })[];
  readonly records_rejected: readonly (RowHead & RawBytes)[];
  readonly recover: readonly Recover[];
}

export function check(file: Retired): RowResult[] {
  return [
    ...file.records_accepted.map((row) =>
      judge(FILE, row, { digest: row.digest, again: row.digest }, () => {
        const record = RetiredJournalRecord.fromJson(rawBytes(row));
        const again = RetiredJournalRecord.fromJson(RetiredJournalRecord.toJson(record));
        return { digest: record.recordDigest, again: again.recordDigest };
      }),
    ),
    ...file.records_rejected.map((row) =>
      judge(FILE, row, {}, () => ({ digest: RetiredJournalRecord.fromJson(rawBytes(row)).recordDigest })),
    ),
    ...file.recover.map((row) => {
      const { disposition, reason, decision, evidence_digest: evidence } = row;
      return judge(FILE, row, { disposition, reason, decision, evidence }, () => {
        const record = RetiredJournalRecord.fromJson(row.record);
        const made = recoverWorkflow(record, [], { now: untag(row.now) as bigint });
        return {
          disposition: made.disposition,
          reason: made.reason,
          decision: RecoveryDecision.toJson(made),
          evidence: made.evidenceDigest,
        };
      });
    }),
  ];
}
