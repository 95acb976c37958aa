/**
 * Staging of a launch: an author's context becomes a digest, and the call an order without content. Invariant: it may run any
 * number of times and answers the same order; a call that is known with another context, or other terms, is refused; what was launched
 * before is said here, so that nobody is asked to sign for it again.
 */
import { refDigest, resolveRefs } from '../rules/calls/ref';
import { captureIdOf, orderOfCall, type LaunchCall } from '../rules/launches/launch-call';
import { orderDigest, orderToRecord, type JobOrder } from '../rules/launches/job-order';
import { Refusal } from '../rules/refusal';
import type { CaptureRecord } from '../rules/verification/capture-record';
import { CONTENT_BOUNDARIES } from '../rules/verification/names';
import type { Engine } from './engine';
import type { StagedLaunch, StageLaunchRequest } from './launch-contract';
import { readJob } from './read-job';

type Stores = Pick<Engine, 'journal' | 'contents'>;

export async function stageLaunch(
  { journal, contents }: Stores,
  workflowId: string,
  request: StageLaunchRequest,
): Promise<StagedLaunch> {
  const { origin, id, provider, model } = request;
  const contentBoundary = CONTENT_BOUNDARIES.find((one) => one === request.content_boundary);
  if (contentBoundary === undefined) {
    throw new Refusal('invalid_arguments', `must be one of ${CONTENT_BOUNDARIES.join(', ')}`, 'content_boundary');
  }
  const call: LaunchCall = { origin, workflowId, id };
  const captureId = captureIdOf(call);
  const contextDigest = await digestOf(contents, captureId, request.context);
  const order = orderOfCall(call, {
    provider,
    model,
    contentBoundary,
    costCeiling: request.cost_ceiling,
    contextDigest,
  });
  const stores = { journal, contents };
  await refuseOtherLaunch(stores, call, order);
  await refuseOtherClaim(stores, call, order);
  const before = await launchedBefore(stores, order);
  return { journal_id: await journal.id(), order: orderToRecord(order), ...(before === null ? {} : { before }) };
}

async function launchedBefore(
  { journal, contents }: Stores,
  { runId, jobId }: JobOrder,
): Promise<NonNullable<StagedLaunch['before']> | null> {
  const files = journal.job(runId, jobId);
  const known = await readJob({ contents }, files);
  if (known.facts.slot === 'none' && known.facts.outcome === null) return null;
  const receipt = known.facts.slot === 'begun' ? await files.receipt() : null;
  return { ...known, receipt: receipt?.token ?? null };
}

/** A call is one launch for ever: by the content store from when it was asked for, by the journal from when it was claimed. */
export async function refuseOtherLaunch(
  { contents }: Pick<Stores, 'contents'>,
  call: LaunchCall,
  { runId }: Pick<JobOrder, 'runId'>,
): Promise<void> {
  if ((await contents.settleLaunch(captureIdOf(call), runId)) === runId) return;
  throw otherLaunch();
}

export function otherLaunch(): Refusal {
  return new Refusal('plan_conflict', 'this launch is already known with other arguments; use another id', 'id');
}

/** What the journal holds of a call whose launch was claimed. */
export function claimOfCall(call: LaunchCall, order: JobOrder): CaptureRecord {
  return { captureId: captureIdOf(call), snapshot: order.snapshotDigest, bound: orderDigest(order) };
}

async function refuseOtherClaim({ journal }: Stores, call: LaunchCall, order: JobOrder): Promise<void> {
  if (!(await journal.captures.isOther(claimOfCall(call, order)))) return;
  throw otherLaunch();
}

/** A Ref as a whole is the digest that it names; anything else is kept under a salt of the call, so that it is one digest. */
async function digestOf(contents: Engine['contents'], captureId: string, context: unknown): Promise<string> {
  const named = typeof context === 'object' && context !== null ? refDigest(context) : null;
  if (named !== null) return named;
  const whole = await resolveRefs(context, (digest) => contents.content(digest));
  return contents.putResult(captureId, 'context', whole);
}
