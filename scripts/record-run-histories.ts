/**
 * Records the histories of verification runs under `test/histories/<version>/runs`, with their journal. Every key in them is made up
 * here.
 */
import { CountersignPlugin } from '../src';
import { VerificationClient, type RunTimes, type VerificationHandle } from '../src/client';
import { jobWorkflowId } from '../src/rules/launches/job-order';
import { startPaidProvider } from '../test/systems/paid-provider';
import {
  ANN,
  checks,
  draft,
  local,
  paidLauncher,
  proposalId,
  reviewers,
  signed,
} from '../test/workflows/verification/support';
import { recordInto } from './dev/recording';

recordInto('runs', {}, async (recording) => {
  const provider = recording.closing(await startPaidProvider());
  const { client, store, contents, taskQueue } = recording;
  await recording.worker({
    plugin: new CountersignPlugin({
      ...{ store, contents, reviewers, checks },
      launchers: [paidLauncher(provider.url)],
    }),
  });
  const runs = new VerificationClient({ client, store, contents, taskQueue });
  const carried = async (handle: VerificationHandle): Promise<void> => {
    for (let wanted = await handle.wanted(); wanted !== null; wanted = await handle.wanted()) {
      await handle.authorize(signed(wanted));
    }
    await handle.result();
  };
  const started = async (name: string, times: RunTimes = {}): Promise<VerificationHandle> =>
    runs.start(await runs.prepare(draft(1, 1, { goal: name, checks: [local(0, 1), ...draft(0, 1).checks] })), times);

  const completed = await started('completed');
  await carried(completed);
  await recording.keep('completed', completed.workflowId);
  const { jobs } = await completed.status();
  for (const { job_id, role } of jobs) await recording.keep(`completed-${role}`, jobWorkflowId(job_id));

  await runs.apply(completed.runId, { person: ANN, proposals: [proposalId(0)] });
  await recording.keep('applied', completed.workflowId);
  const [owed] = await runs.obligations(completed.runId);
  const capture = {
    source: 'documents/one',
    content: 'All of it, corrected.',
    target: 'short',
    reference: 'section-2',
  };
  const asked = { person: ANN, intentId: owed!.intentId, goal: 'completed', protectedIntent: 'the figures', capture };
  const rechecked = await runs.recheck(asked);
  await carried(rechecked);
  await recording.keep('rechecked', rechecked.workflowId);

  const cancelled = await started('cancelled');
  await cancelled.wanted();
  await cancelled.cancel();
  await recording.keep('cancelled', cancelled.workflowId);

  const lapsed = await started('lapsed', { authorizationMs: 1_000 });
  await lapsed.result();
  await recording.keep('lapsed', lapsed.workflowId);

  provider.mode = { status: 429 };
  const declined = await started('declined');
  await carried(declined);
  await recording.keep('declined', declined.workflowId);

  const refused = await runs.prepare(draft(1, 0, { goal: 'refused' }));
  await runs.start({ ...refused, person: 'nobody' }).catch(() => undefined);
  await recording.keep('refused', runs.handle(refused.runId).workflowId);
});
