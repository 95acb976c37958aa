/**
 * Receipts that permit one launch.
 *
 * Held here:
 * - what is permitted is one launch exactly: any other value of any claim is refused, by its field;
 * - it counts until its last millisecond, for one journal, of one person, once for each job;
 * - a receipt about a plan permits no launch, and one for a launch says nothing about a plan.
 */
import { describe, expect, it } from 'vitest';
import { admitDecision } from '../../../src/rules/receipts/admit';
import { admitLaunch, type LaunchContext } from '../../../src/rules/receipts/launch-receipt';
import { receiptDigest, signReceipt } from '../../../src/rules/receipts/jws';
import {
  launchClaimsFromRecord,
  launchClaimsToRecord,
  type LaunchClaims,
} from '../../../src/rules/receipts/launch-claims';
import { launchOf, plannedJobs, type PlannedJob } from '../../../src/rules/verification/chain';
import { launchClaims, runOf } from '../verification/support';
import { AUDITOR, CLERK, CONTEXT, KEYS, NOW, approval, common, digest, personOf, signer } from './support';

const run = runOf(0, 1);
const [planned, other] = plannedJobs(run) as [PlannedJob, PlannedJob];
const claims = launchClaims(run, planned);
const context: LaunchContext = {
  now: NOW,
  keys: KEYS,
  journalId: common.journalId,
  launch: launchOf(run, planned, claims.contextDigest),
  authorizer: digest(personOf('ann')),
  held: null,
};
const token = (more: Partial<LaunchClaims> = {}, name = 'ann'): string =>
  signReceipt({ ...claims, ...more }, signer(name));
const said = (text: unknown, more: Partial<LaunchContext> = {}): string => {
  const answer = admitLaunch(text, { ...context, ...more });
  return answer.ok ? 'admitted' : `${answer.refusal.code} ${answer.refusal.field ?? ''}`;
};
const end = claims.exp * 1000;

describe('a launch', () => {
  it.each<[string, string, string]>([
    ['as authorized', said(token()), 'admitted'],
    ['in another role that is held', said(token({ role: AUDITOR })), 'admitted'],
    ['of another journal', said(token({ journalId: `jrn_${'9'.repeat(32)}` })), 'receipt_wrong_journal journal_id'],
    ['of another run', said(token({ runId: `run_${'9'.repeat(32)}` })), 'receipt_wrong_run run_id'],
    ['of another job', said(token({ jobId: other.jobId })), 'receipt_wrong_launch job_id'],
    ['of another snapshot', said(token({ snapshotDigest: digest('x') })), 'receipt_wrong_launch snapshot_digest'],
    ['of another plan', said(token({ planDigest: digest('x') })), 'receipt_wrong_plan plan_digest'],
    ['of another provider', said(token({ provider: 'other' })), 'receipt_wrong_launch provider'],
    ['of another model', said(token({ model: 'other' })), 'receipt_wrong_launch model'],
    ['of another context', said(token({ contextDigest: digest('x') })), 'receipt_wrong_launch context_digest'],
    ['of another boundary', said(token({ contentBoundary: 'whole_context' })), 'receipt_wrong_launch content_boundary'],
    ['for more', said(token({ costCeiling: 501 })), 'receipt_wrong_launch cost_ceiling'],
    ['for less', said(token({ costCeiling: 499 })), 'receipt_wrong_launch cost_ceiling'],
    ['of another person', said(token({}, 'bob')), 'receipt_wrong_launch kid'],
    ['of anybody, when nobody has authorized yet', said(token({}, 'bob'), { authorizer: null }), 'admitted'],
    ['in a role that is not held', said(token({ role: CLERK })), 'receipt_wrong_role role'],
    ['in a role that may not', said(token(), { roles: [AUDITOR] }), 'receipt_wrong_role role'],
    ['of an unknown key', said(token({}, 'zoe')), 'receipt_unknown_key kid'],
    ['of a revoked key', said(token({}, 'rex')), 'receipt_revoked kid'],
    ['of the receipt that it has', said(token(), { held: receiptDigest(token()) }), 'admitted'],
    ['of a second receipt', said(token({ jti: `nonce_${'9'.repeat(32)}` }), { held: receiptDigest(token()) }), 'receipt_replayed job_id'],
    ['a millisecond before the end', said(token(), { now: end - 1 }), 'admitted'],
    ['at the end', said(token(), { now: end }), 'receipt_expired exp'],
    ['a millisecond after the end', said(token(), { now: end + 1 }), 'receipt_expired exp'],
    ['for longer than allowed', said(token(), { maxLifetimeMs: 3_600_000 }), 'receipt_lifetime exp'],
    ['signed in the future', said(token({ iat: claims.iat + 3_600 })), 'receipt_not_yet_valid iat'],
    ['under another signature', said(`${token().slice(0, -4)}AAAA`), 'receipt_unsigned receipt'],
    ['by an approval of a plan', said(signReceipt(approval(), signer('ann'))), 'receipt_wrong_type header.typ'],
    ['by nothing', said(''), 'receipt_malformed receipt'],
  ])('%s', (_what, answer, expected) => {
    expect(answer).toBe(expected);
  }); // prettier-ignore

  it('says nothing about a plan', () => {
    expect(admitDecision(token(), CONTEXT)).toMatchObject({ ok: false, refusal: { code: 'receipt_wrong_type' } });
  });
});

it('says of whom it must be', () => {
  const answer = admitLaunch(token({}, 'bob'), context);
  expect(answer.ok ? null : answer.refusal.message).toMatch(/another person than the one who started the run/);
});

describe('its claims', () => {
  const record = launchClaimsToRecord(claims);
  it('read back', () => {
    expect(launchClaimsFromRecord(record)).toEqual(claims);
  });
  it.each<[string, unknown]>([
    ['retry_limit', 1],
    ['retry_limit', '0'],
    ['authorizer', 'service'],
    ['authorizer', null],
    ['cost_ceiling', -1],
    ['cost_ceiling', 0.5],
    ['cost_ceiling', null],
    ['content_boundary', 'everything'],
    ['provider', 'two words'],
    ['model', ''],
    ['job_id', 'x'],
    ['exp', null],
    ['more', 1],
  ])('are none with %s: %j', (field, value) => {
    const field_ = expect.objectContaining({ code: 'receipt_malformed', field: `claims.${field}` }) as Error;
    expect(() => launchClaimsFromRecord({ ...record, [field]: value })).toThrow(field_);
  });
  it.each(Object.keys(record))('are none without %s', (field) => {
    const { [field]: _gone, ...rest } = record;
    expect(() => launchClaimsFromRecord(rest)).toThrow(/receipt_malformed/);
  });
});
