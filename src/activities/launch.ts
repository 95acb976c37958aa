/**
 * Claim and launch, in one execution. Invariant: nothing is launched unless this very execution created the job's one slot, under
 * a receipt that counts at that moment; whoever finds the slot taken launches nothing, and what came of the launch is then told
 * by the journal alone.
 */
import type { LaunchContext, LaunchOutcome } from '../ports';
import { jobWorkflowId, orderDigest, orderFromRecord, type JobOrder } from '../rules/launches/job-order';
import { orderOfCall, type LaunchCall } from '../rules/launches/launch-call';
import { credentialDigest, credentialOf } from '../rules/launches/worker-pass';
import { actionDigest } from '../rules/receipts/claims';
import { findKey, type Jwks } from '../rules/receipts/jwks';
import { decodeReceipt, receiptDigest } from '../rules/receipts/jws';
import { admittedLaunch, type LaunchReceipt } from '../rules/receipts/launch-receipt';
import { claimToText, nonceName } from '../rules/receipts/nonce-claim';
import { Refusal } from '../rules/refusal';
import { safeCode, type SendEnd, type SlotRecord } from '../rules/sends/slot';
import { faultClass } from './fault-class';
import type { JobFiles } from './job-files';
import type { LaunchRequest, LaunchResult } from './launch-contract';
import type { Carriers, LaunchCaller, LaunchEngine } from './launch-engine';
import { refuseOutOfTurn } from './launch-turn';
import { readJob } from './read-job';
import { captureEntry } from './capture-files';
import { claimOfCall, otherLaunch, refuseOtherLaunch } from './stage-launch';
import { endJob, workerDoors } from './worker-door';

export async function launch(
  engine: LaunchEngine,
  caller: LaunchCaller,
  carriers: Carriers,
  request: LaunchRequest,
): Promise<LaunchResult> {
  const started = engine.now();
  const order = orderFromRecord(request.order);
  const call = callOf(order, caller, request.call);
  const journalId = await engine.journal.id();
  const at = { journal_id: journalId };
  if (request.journal_id !== null && request.journal_id !== journalId) {
    const message = 'this worker writes another journal than the one this history belongs to';
    return { ...at, journal_id: request.journal_id, status: 'not_here', code: 'wrong_journal', message };
  }
  const files = engine.journal.job(order.runId, order.jobId);
  const before = await readJob(engine, files);
  if (before.facts.outcome !== null || before.facts.slot !== 'none') return { ...at, status: 'taken', ...before };

  if (call !== null) await refuseOtherLaunch(engine, call, order);
  const launcher = engine.launchers.find(order.provider, order.model);
  if (launcher === null) {
    const message = 'this worker has no launcher of that provider and model; define it in the plugin';
    return { ...at, status: 'not_here', code: 'no_adapter', message };
  }
  // No decision compares the clocks of two machines; for expiry, the later of the two counts.
  const now = (): number => Math.max(engine.now(), caller.scheduledAt);
  const admitted = await admission(engine, files, order, journalId, request.receipt, now());
  if ('status' in admitted) return { ...at, ...admitted };
  const { receipt, held } = admitted;
  const integrity = await contextFault(engine, order);
  if (integrity !== null) return { ...at, status: 'turned_down', reason: 'context_integrity_failed', ...integrity };

  await engine.atLaunch?.('claiming');
  const owner = engine.newOwner();
  const credential = credentialOf(order.runId, order.jobId, engine.newSecret());
  const deadlineMs = Math.min(launcher.deadlineMs, Math.max(1, request.lease_ms - (engine.now() - started)));
  const slot = slotOf(order, owner, now(), deadlineMs);
  const answer = await files.claim({
    order,
    call: call === null ? null : captureEntry(claimOfCall(call, order)),
    nonce: nonceOf(receipt),
    receipt: held ? null : { token: receipt.token, key: receipt.key, receivedAt: engine.now() },
    slot,
    pass: { jobId: order.jobId, owner, credentialDigest: credentialDigest(credential) },
  });
  if (answer === 'taken' || answer === 'other_receipt') {
    return { ...at, status: 'taken', ...(await readJob(engine, files)) };
  }
  if (answer === 'other_call') throw otherLaunch();
  if (answer !== 'ours') return { ...at, status: 'turned_down', ...CLAIM_REFUSED[answer] };

  await engine.atLaunch?.('claimed');
  const end: EndOf = (ended) =>
    files.end({ owner, code: null, externalId: null, resultDigest: null, retryAfterMs: null, ...ended });
  // The clock kept running while this process did not: an authorization that has expired is not used.
  if (now() >= receipt.expiresAt) {
    await end({ outcome: 'not_sent' });
    await files.settle({ outcome: 'ended', jobId: order.jobId, reason: 'authorization_expired', refusal: null });
    return { ...at, status: 'claimed', ...(await readJob(engine, files)) };
  }
  const heard = hearing(carriers);
  const door = workerDoors(engine, heard.carriers)(credential);
  const { runId, jobId, role, provider, model, contextDigest } = order;
  const about = { runId, jobId, provider, model };
  const exited: LaunchContext['exited'] = ({ code, signal } = { code: null, signal: null }) => {
    endJob(files, heard.carriers, jobId, 'worker_exited_before_submission')
      .then((first) => {
        if (!first) return;
        engine.warn?.('the worker of a launch ended before it submitted', {
          ...about,
          exitCode: code,
          exitSignal: signal,
        });
      })
      .catch(() => undefined);
  };
  let outcome: LaunchOutcome | null = null;
  try {
    const launched = engine.withDeadline(deadlineMs, (signal) =>
      launcher.launch(
        { jobId, role, provider, model, contextDigest },
        { signal, deadlineMs, credential, door, exited },
      ),
    );
    launched.catch(() => undefined);
    outcome = await Promise.race([launched, heard.submission]);
  } catch (fault) {
    // Unknown: it threw, or overran its deadline. No end is written, and nobody tries again.
    engine.warn?.('a launcher failed; whether it launched is unknown', { ...about, fault: faultClass(fault) });
  }
  await engine.atLaunch?.('launched');
  await writeEnd(end, outcome);
  await engine.atLaunch?.('launch_ended');
  heard.answers();
  const known = await readJob(engine, files);
  // An author whose workflow was reset meanwhile does not hear the answer, and has the job carried by its own.
  if (!isOwn(order, caller)) await carriers.changed(jobId);
  return { ...at, status: 'claimed', ...known };
}

interface Hearing {
  readonly carriers: Carriers;
  /** A worker that has submitted was started, whatever else its launcher still does. */
  readonly submission: Promise<LaunchOutcome>;
  /** From now on whoever carries the job is told. */
  answers(): void;
}

/** Until the launch answers, the journal is read for its answer after whatever happens: nobody else needs to be told of it. */
function hearing(carriers: Carriers): Hearing {
  let answered = false;
  let submitted: () => void = () => undefined;
  const submission = new Promise<LaunchOutcome>((resolve) => (submitted = () => resolve({ outcome: 'started' })));
  return {
    submission,
    answers: () => void (answered = true),
    carriers: {
      submitted: async (jobId, digest) => {
        submitted();
        if (answered) await carriers.submitted(jobId, digest);
      },
      changed: async (jobId) => {
        if (answered) await carriers.changed(jobId);
      },
    },
  };
}

type TurnedDown = Omit<Extract<LaunchResult, { status: 'turned_down' }>, 'journal_id' | 'status'>;
type EndOf = (ended: Partial<SendEnd> & Pick<SendEnd, 'outcome'>) => Promise<void>;

const CLAIM_REFUSED: Record<'other_order' | 'nonce_used', TurnedDown> = {
  other_order: {
    reason: 'authorization_invalid',
    code: 'record_conflict',
    message: 'this job is already known under another order; nothing is replaced',
  },
  nonce_used: {
    reason: 'authorization_invalid',
    code: 'receipt_replayed',
    message: 'the receipt uses a nonce that was used for another decision; sign again',
  },
};

/** Anyone in the namespace can call an activity; only the job's own workflow may launch it, and that of the author whose call it is. */
function callOf(order: JobOrder, caller: LaunchCaller, named: LaunchRequest['call']): LaunchCall | null {
  const own = isOwn(order, caller);
  // A job of a run is no author's; nor did authors of before say whose it was.
  if (own && named === undefined) return null;
  const workflowId = own ? (named?.workflow_id ?? null) : caller.workflowId;
  if (named !== undefined && workflowId !== null) {
    const call: LaunchCall = { origin: named.origin, id: named.id, workflowId };
    const { provider, model, contentBoundary, costCeiling, contextDigest } = order;
    const theirs = orderOfCall(call, { provider, model, contentBoundary, costCeiling, contextDigest });
    if (orderDigest(theirs) === orderDigest(order)) return call;
  }
  throw new Refusal('not_the_plans_workflow', `only the workflow ${jobWorkflowId(order.jobId)} may launch this job`);
}

function isOwn({ jobId }: JobOrder, { workflowId }: LaunchCaller): boolean {
  return workflowId === jobWorkflowId(jobId);
}

type Admission =
  | { readonly receipt: LaunchReceipt; readonly held: boolean }
  | ({ readonly status: 'turned_down' } & TurnedDown)
  | { readonly status: 'not_here'; readonly code: Refusal['code']; readonly message: string };

async function admission(
  engine: LaunchEngine,
  files: JobFiles,
  order: JobOrder,
  journalId: string,
  token: string,
  now: number,
): Promise<Admission> {
  const stored = await files.receipt();
  try {
    const authorizer = (await refuseOutOfTurn(engine.journal, journalId, order, token)) ?? (await files.authorizer());
    const keys = await keysFor(engine, token);
    const held = stored === null ? null : receiptDigest(stored.token);
    const roles = engine.launchRoles === null ? {} : { roles: engine.launchRoles };
    const receipt = admittedLaunch(token, { now, keys, journalId, launch: order, authorizer, held, ...roles });
    return { receipt, held: held !== null };
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    const { code, message } = fault;
    if (code === 'reviewers_unavailable') return { status: 'not_here', code, message };
    const reason = code === 'receipt_expired' ? 'authorization_expired' : 'authorization_invalid';
    return { status: 'turned_down', reason, code, message };
  }
}

/** A key that was added a moment ago is looked for once more. */
export async function keysFor({ reviewers }: LaunchEngine, token: string): Promise<Jwks> {
  if (reviewers === null) return { keys: [], digest: '' };
  const keys = await reviewers.load();
  const { kid } = decodeReceipt(token);
  return findKey(keys, kid) === null ? reviewers.load(kid) : keys;
}

async function contextFault(
  engine: LaunchEngine,
  { contextDigest }: JobOrder,
): Promise<Pick<TurnedDown, 'code' | 'message'> | null> {
  try {
    await engine.contents.content(contextDigest);
    return null;
  } catch (fault) {
    if (!(fault instanceof Refusal) || fault.code !== 'content_missing') throw fault;
    return { code: fault.code, message: fault.message };
  }
}

function nonceOf({ claims, key }: LaunchReceipt): readonly [string, string] {
  const text = claimToText({ nonce: claims.jti, runId: claims.runId, lineage: 0, actionDigest: actionDigest(claims) });
  return [`claims/${nonceName(key.kid, claims.jti)}.json`, text];
}

/** The slot of a job belongs to no lineage; what stands in the place of a head is the order that it was taken for. */
export function slotOf(order: JobOrder, owner: string, openedAt: number, deadlineMs: number): SlotRecord {
  const head = { lineage: 0, sequence: 0, digest: orderDigest(order) };
  return { state: 'begun', owner, epoch: 0, head, openedAt, deadlineMs, settleMs: 0 };
}

async function writeEnd(end: EndOf, outcome: LaunchOutcome | null): Promise<void> {
  switch (outcome?.outcome) {
    case 'started':
      return end({ outcome: 'acked' });
    case 'refused':
      return end({ outcome: 'refused', code: safeCode(String(outcome.code)) });
    case 'not_launched':
      return end({ outcome: 'not_sent' });
    default:
      return; // unknown
  }
}
