/**
 * Properties of rechecks on the real server:
 * - what a person applied is owed to be checked again; a recheck of exactly that, on a later capture, fulfils it, and nothing before;
 * - asked again, a recheck is the run already started, also when nothing is owed any more; with anything changed it is refused;
 * - widened, without its intent, with another goal, other proposals, the same snapshot, a clock that was set back or ahead, an invented
 *   affirmation, or a text that changed since it was affirmed, it is refused before anything is recorded or launched;
 * - a target that cannot be found again needs an affirmation, which starts nothing;
 * - a recheck that answers some of what is owed leaves the rest to another one.
 */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Capture, Obligation, PreparedRun, RecheckDraft, RunDraft, VerificationClient } from '../../../src/client';
import { runDigest, runIdOf, type VerificationRun } from '../../../src/rules/verification/run';
import { digest, personOf } from '../../rules/receipts/support';
import { startPaidProvider, type PaidProvider } from '../../systems/paid-provider';
import { useRig } from '../../support/rig';
import { everything } from '../launches/support';
import {
  ANN,
  authorizeAll,
  checks,
  clientOf,
  draft,
  local,
  paidLauncher,
  proposalId,
  reviewers,
  WORKFLOWS,
} from './support';

const rig = useRig({ workflowsPath: WORKFLOWS });
let provider: PaidProvider;
let runs: VerificationClient;
beforeEach(async () => {
  provider = await startPaidProvider();
  await rig.worker({ plugin: { launchers: [paidLauncher(provider.url)], reviewers, checks } });
  runs = clientOf(rig);
});
afterEach(() => provider.close());

const captureId = (): string => `cap_${randomBytes(16).toString('hex')}`;
const again = (more: Partial<Capture> = {}): Capture => ({
  ...{ captureId: captureId(), source: 'documents/one', content: 'All of a text, corrected.', target: 'short' },
  ...{ reference: 'section-2' },
  ...more,
});
const asking = (intentId: string, more: Partial<RecheckDraft> = {}): RecheckDraft => ({
  ...{ person: ANN, intentId, goal: 'plain words', protectedIntent: 'the figures', capture: again() },
  ...more,
});

/** Two checks that find something, a proposal for each, and a person who applied both. */
async function applied(
  more: Partial<RunDraft> = {},
): Promise<{ readonly source: PreparedRun; readonly owed: Obligation }> {
  const source = await runs.prepare(draft(1, 1, { checks: [local(0, 1), ...draft(0, 1).checks], ...more }));
  await authorizeAll(rig, await runs.start(source));
  const [told] = await runs.apply(source.runId, { person: ANN, proposals: [proposalId(0), proposalId(1)] });
  const [owed] = await runs.obligations(source.runId);
  expect(told).toMatchObject({ intentId: owed?.intentId, sourceRunId: source.runId, state: owed?.state });
  return { source, owed: owed as Obligation };
}

function altered(prepared: PreparedRun, change: (run: VerificationRun) => VerificationRun): PreparedRun {
  const run = change(prepared.run);
  const digest = runDigest(run);
  return { ...prepared, run, runDigest: digest, runId: runIdOf(digest) };
}
const recheckOf = (run: VerificationRun): NonNullable<VerificationRun['input']['recheck']> => run.input.recheck!;

test('what was applied is checked again, once', async () => {
  const { source, owed } = await applied();
  expect(owed).toMatchObject({ state: 'pending_capture', pending: [proposalId(0), proposalId(1)] });
  const asked = asking(owed.intentId);
  const handle = await runs.recheck(asked);
  const status = await authorizeAll(rig, handle);
  expect(status).toMatchObject({ outcome: 'completed', replayed: false });
  expect(await runs.obligations(source.runId)).toMatchObject([{ state: 'fulfilled', pending: [] }]);
  const refreshed = await runs.apply(source.runId, { person: ANN, proposals: owed.proposals, ...sittingOf(owed) });
  expect(refreshed).toMatchObject([{ intentId: owed.intentId, state: 'fulfilled' }]);

  const requests = provider.requests();
  const retried = await runs.recheck(asked);
  expect(retried.runId).toBe(handle.runId);
  expect(await retried.result()).toMatchObject({ outcome: 'completed', replayed: true });
  const changed = runs.recheck({ ...asked, capture: { ...asked.capture, target: 'something else' } });
  await expect(changed).rejects.toMatchObject({ code: 'recheck_refused' });
  expect(provider.requests()).toBe(requests);
});

const sittingOf = ({ sittingId, committedAt }: Obligation): object => ({ sittingId, committedAt });

const BEFORE = 1_000;
const CASES: Record<string, (prepared: PreparedRun, source: PreparedRun, owed: Obligation) => PreparedRun> = {
  'widened to the whole': (prepared) =>
    altered(prepared, (run) => ({
      ...run,
      snapshot: { ...run.snapshot, selector: { ...run.snapshot.selector, kind: 'whole', reference: null } },
    })),
  'moved to another passage': (prepared) =>
    altered(prepared, (run) => ({
      ...run,
      snapshot: { ...run.snapshot, selector: { ...run.snapshot.selector, reference: digest('elsewhere') } },
    })),
  'without an intent that anybody owes': (prepared) =>
    altered(prepared, (run) => ({
      ...run,
      input: { ...run.input, recheck: { ...recheckOf(run), intentId: digest('no intent') } },
    })),
  'with another goal': (prepared, source) =>
    altered(prepared, (run) => ({ ...run, input: { ...run.input, goalDigest: source.run.snapshot.targetDigest } })),
  'with other proposals': (prepared) =>
    altered(prepared, (run) => ({
      ...run,
      input: { ...run.input, recheck: { ...recheckOf(run), proposals: [proposalId(0)] } },
    })),
  'on the same snapshot': (prepared, source) => altered(prepared, (run) => ({ ...run, snapshot: source.run.snapshot })),
  'captured before the sitting': (prepared, _source, owed) => ({ ...prepared, capturedAt: owed.committedAt }),
  'captured in the future': (prepared) => ({ ...prepared, capturedAt: Date.now() + 3_600_000 }),
  'with an invented affirmation': (prepared) =>
    altered(prepared, (run) => ({
      ...run,
      input: { ...run.input, recheck: { ...recheckOf(run), affirmation: digest('nobody affirmed') } },
    })),
  'by another model': (prepared) =>
    altered(prepared, (run) => ({
      ...run,
      executors: { ...run.executors, coordinator: { ...run.executors.coordinator!, model: 'model-2' } },
    })),
};

test('what is not exactly what is owed is refused, and leaves nothing', async () => {
  const { source, owed } = await applied({ capture: { ...draft(1, 1).capture, capturedAt: Date.now() - BEFORE } });
  const prepared = await runs.prepareRecheck(asking(owed.intentId));
  const requests = provider.requests();
  const journal = path.join(rig.folder, 'journal');
  const before = await everything(journal);
  for (const [name, alter] of Object.entries(CASES)) {
    const started = runs.start(alter(prepared, source, owed));
    await expect(started, name).rejects.toMatchObject({ code: 'recheck_refused' });
    expect(await everything(journal), name).toEqual(before);
  }
  const without = altered(prepared, (run) => ({ ...run, input: { ...run.input, recheck: null } }));
  await expect(runs.start(without)).rejects.toMatchObject({ code: 'invalid_record' });
  expect(await everything(journal)).toEqual(before);
  expect(provider.requests()).toBe(requests);
});

describe('a target that cannot be found again', () => {
  const lost = { source: 'documents/one', content: 'All of a text.', target: 'planted text' };

  test('needs an affirmation of exactly the text that is checked', async () => {
    const { source, owed } = await applied({ capture: lost });
    expect(owed.state).toBe('user_action_required');
    const capture = again();
    await expect(runs.recheck(asking(owed.intentId))).rejects.toMatchObject({ code: 'recheck_refused' });
    const affirmed = asking(owed.intentId, { capture: again({ capturedAt: Date.now() }) });
    const affirmation = await runs.affirm(affirmed);
    expect(await runs.affirm(affirmed)).toBe(affirmation);
    expect(await runs.obligations(source.runId)).toMatchObject([{ state: 'user_action_required' }]);

    const changed = asking(owed.intentId, { affirmation, capture: again({ target: 'edited since' }) });
    await expect(runs.recheck(changed)).rejects.toMatchObject({ code: 'recheck_refused' });
    const byBob = asking(owed.intentId, { affirmation, capture, person: personOf('bob') });
    await expect(runs.recheck(byBob)).rejects.toMatchObject({ code: 'recheck_refused' });

    const handle = await runs.recheck(asking(owed.intentId, { affirmation, capture }));
    expect(await authorizeAll(rig, handle)).toMatchObject({ outcome: 'completed' });
    expect(await runs.obligations(source.runId)).toMatchObject([{ state: 'fulfilled' }]);
  });
});

test('what is left of an intent can be finished', async () => {
  const { source, owed } = await applied();
  const prepared = await runs.prepareRecheck(asking(owed.intentId));
  const half = altered(prepared, (run) => ({
    ...run,
    plan: { checks: run.plan.checks.slice(0, 1) },
    executors: { ...run.executors, checks: run.executors.checks.filter(({ mode }) => mode === 'in_process') },
  }));
  await authorizeAll(rig, await runs.start(half));
  expect(await runs.obligations(source.runId)).toMatchObject([{ state: 'pending_capture', pending: [proposalId(1)] }]);
  await authorizeAll(rig, await runs.recheck(asking(owed.intentId)));
  expect(await runs.obligations(source.runId)).toMatchObject([{ state: 'fulfilled', pending: [] }]);
});
