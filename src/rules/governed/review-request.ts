/**
 * The name of a question that is put to people. Invariant: it covers what is asked and about which state, and neither who has
 * answered meanwhile nor which keys are known, so the same question keeps its name.
 */
import { canonicalJson, sha256Digest } from '../recovery';
import { ruleToRecord } from '../receipts/approval-rule';
import type { Question } from '../receipts/question';

const REVIEW_REQUEST_SCHEMA_VERSION = 'countersign.review_request.v1';

export function reviewRequestDigest(question: Question): string {
  return sha256Digest(
    canonicalJson({
      schema_version: REVIEW_REQUEST_SCHEMA_VERSION,
      journal_id: question.journalId,
      run_id: question.runId,
      lineage: question.lineage,
      plan_digest: question.planDigest,
      head_digest: question.headDigest,
      asks_approval: question.asksApproval,
      rules: question.rules.map(ruleToRecord),
      resolutions: question.resolutions,
      doubtful: question.doubtful,
    }),
  );
}
