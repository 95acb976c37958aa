/**
 * What each governed workflow command does. Invariant: whatever changes something looks first, and does nothing about any other
 * state than the one that the request names; nothing is ever tried twice.
 */
import { WorkflowNotFoundError } from '@temporalio/client';
import type { PreviewedEffect } from '../../activities/contract';
import type { WorkflowRequest } from '../../rules/governed/request';
import { CHANGES, GovernedError, type GovernedCommand } from '../../rules/governed/vocabulary';
import type { Claims, Resolution } from '../../rules/receipts/claims';
import { claimsOf, decodeReceipt, receiptDigest } from '../../rules/receipts/jws';
import { admitAnswer } from '../../rules/receipts/question';
import { EXIT, PREVIEW_EXITS } from '../exit-codes';
import { CliError } from '../failure';
import type { Service } from '../service';
import type { Settings } from '../settings';
import { doorFor } from '../receipt-file';
import { nothingAsked, unlessInterrupted } from '../sign';
import { look, type Seen } from './look';
import { isEnded, type GovernedView } from './view';

const LOOK_UPS_WITHIN_MS = 60_000;

export interface Governing {
  readonly service: Service;
  readonly settings: Settings;
  readonly request: WorkflowRequest;
  /** For `resume`. */
  readonly receipt: string | null;
  readonly interrupted: AbortSignal;
}

export async function govern(command: GovernedCommand, at: Governing): Promise<GovernedView> {
  const seen = await look(at.service, at.settings, at.request);
  if (CHANGES[command]) {
    const expected = at.request.expectedStateDigest;
    if (expected === null || expected !== seen.view.stateDigest) throw elsewhere();
  }
  return ACTS[command](at, seen);
}

function elsewhere(): GovernedError {
  return new GovernedError('state_conflict', 'the run does not stand at the state that the request names; inspect it');
}

type Act = (at: Governing, seen: Seen) => Promise<GovernedView>;

const ACTS: Record<GovernedCommand, Act> = {
  plan: shown,
  inspect: shown,
  preview,
  'submit-review': submitReview,
  cancel,
  resume,
};

function shown(_at: Governing, { view }: Seen): Promise<GovernedView> {
  return Promise.resolve(view);
}

/** Looks up what the sinks hold; a plan that would need a person says so before it is carried out. */
async function preview({ service, interrupted }: Governing, { view, plan }: Seen): Promise<GovernedView> {
  if (isEnded(view)) return view;
  const limit = AbortSignal.any([interrupted, AbortSignal.timeout(LOOK_UPS_WITHIN_MS)]);
  const outcome = await unlessInterrupted(service.plans.preview(plan), limit);
  if (outcome === null) {
    if (interrupted.aborted) throw gone();
    throw new GovernedError('adapter_unavailable', 'no worker has looked up the effects; start one on this task queue');
  }
  const doubtful = (outcome.preview ?? []).some(
    ({ state }: PreviewedEffect) => EXIT[PREVIEW_EXITS[state]] !== EXIT.done,
  );
  return doubtful && view.status === 'ready' ? { ...view, status: 'review_required' } : view;
}

/**
 * Has people asked. What is asked already stays as it is: looked at again it would have another state, and what somebody has signed
 * meanwhile would be about the one before.
 */
async function submitReview(at: Governing, seen: Seen): Promise<GovernedView> {
  const { handle, status, question } = carried(seen);
  if (status.state !== 'parked' || question !== null) return seen.view;
  await done(handle.reobserve(seen.view.stateDigest ?? ''), at);
  return (await look(at.service, at.settings, at.request)).view;
}

async function cancel(at: Governing, seen: Seen): Promise<GovernedView> {
  if (seen.view.status === 'cancelled') return seen.view;
  const { handle } = carried(seen);
  await done(handle.cancel(seen.view.stateDigest ?? ''), at);
  return (await look(at.service, at.settings, at.request)).view;
}

/** Which decisions let a run go on. */
const RESUMES: Record<'request' | 'approve' | 'reject' | Resolution, boolean> = {
  request: false,
  approve: true,
  reject: false,
  reobserve: true,
  mark_committed: true,
  mark_absent: true,
  abort: false,
  new_lineage: true,
};

async function resume(at: Governing, seen: Seen): Promise<GovernedView> {
  const { handle, status, question } = carried(seen);
  const token = at.receipt ?? '';
  const door = doorFor(token);
  if (question === null) throw nothingAsked(status);
  if (question.headDigest !== seen.view.stateDigest) throw elsewhere();
  const admission = admitAnswer(token, question, Date.now(), door);
  // A key that is newer than the workers' last look is known when they have looked again, at the door.
  if (!admission.ok && admission.refusal.code !== 'receipt_unknown_key') throw admission.refusal;
  if (!RESUMES[said(claimsOf(decodeReceipt(token)))]) {
    throw new GovernedError('receipt_conflict', 'this receipt lets nothing go on; hand it over with "approvals send"');
  }
  await done(door === 'approve' ? handle.approve(token) : handle.resolve(token), at);
  const { view } = await look(at.service, at.settings, at.request);
  return { ...view, receiptDigest: receiptDigest(token) };
}

function said(claims: Claims): keyof typeof RESUMES {
  switch (claims.kind) {
    case 'request':
      return 'request';
    case 'approval':
      return claims.decision;
    case 'resolution':
      return claims.resolution;
  }
}

/** The execution that can be asked for a change. */
function carried({ view, live }: Seen): NonNullable<Seen['live']> {
  if (isEnded(view)) throw new GovernedError('terminal_state', `the run has ended; it is ${view.status}`);
  if (live !== null) return live;
  const reason =
    'no execution carries this run, or no worker answers for it; take it up with "countersign run" or "resume"';
  throw new GovernedError('adapter_unavailable', reason);
}

async function done<T>(sent: Promise<T>, { interrupted }: Governing): Promise<void> {
  const told = sent.then(
    () => true,
    (fault: unknown) => {
      // It was there when we looked.
      if (!(fault instanceof WorkflowNotFoundError)) throw fault;
      throw new GovernedError('terminal_state', 'the run has ended meanwhile; inspect it');
    },
  );
  if ((await unlessInterrupted(told, interrupted)) === null) throw gone();
}

function gone(): CliError {
  return new CliError('interrupted', 'what was asked goes on without you; look again with "inspect"');
}
