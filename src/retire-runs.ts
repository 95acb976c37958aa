/**
 * Retirement of runs in a journal on files: the checkpoints of a finished lineage give way to one record. Invariant: plan, slots,
 * witnesses and receipts stay, so what came of the run can still be derived and proven, nobody gets a slot a second time, and
 * what does not verify is left as it is.
 *
 * Who is still writing needs no lock to be kept out: nothing may follow a completed checkpoint; a driver that had read an
 * older head writes into a folder whose record every reader looks at first; and its sends are stopped by the slots that stay.
 */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { lineageFolder, Journal } from './activities/journal';
import { runKind } from './activities/run-kind';
import { isSession } from './activities/session-files';
import { CheckpointJournal, fileStore } from './adapters/stores';
import {
  JournalRetentionPolicy,
  JournalRetirementPlan,
  RETIRED_FILE_NAME,
  sha256Digest,
  type RecoveryPhase,
} from './rules/recovery';
import { Refusal } from './rules/refusal';
import { storeView, verifyJournal } from './verify';

/** An execution of `drive` may take two hours, and whatever was running when the run ended shall be long over. */
export const LEAST_AGE_SECONDS = 86_400n;

export interface RetentionRule {
  /** How long ago the last checkpoint must have been written. */
  readonly minimumAgeSeconds: bigint;
  /** Unix seconds for which the plan is made. */
  readonly plannedAt: bigint;
}

/** `leftover`: retired before, but for checkpoint files that were not deleted any more. */
export type Retirement =
  | {
      readonly runId: string;
      readonly state: 'retirable';
      readonly plan: JournalRetirementPlan;
      readonly folder: string;
    }
  | { readonly runId: string; readonly state: 'retired' | 'leftover'; readonly folder: string }
  | {
      readonly runId: string;
      readonly state: 'open' | 'aborted' | 'young' | 'invalid' | 'without_chain';
      readonly phase: RecoveryPhase | null;
    };

/** What may become of one run. Looks only; throws `Refusal` when the journal does not know it. */
export async function planRetirement(root: string, runId: string, rule: RetentionRule): Promise<Retirement> {
  const store = fileStore(root);
  const id = await new Journal(store).id();
  const kind = await runKind(store, runId);
  const hasNoChain = kind === 'launch' || kind === 'verification' || isSession(await store.list(runId));
  if (hasNoChain) return { runId, state: 'without_chain', phase: null };
  if ((await new Journal(store).plan(runId)) === null) {
    throw new Refusal('unknown_run', `journal ${id} holds no such run`, runId);
  }
  const report = await verifyJournal(storeView(store, runId));
  const newest = report.runs[0]?.lineages.at(-1);
  const phase = newest?.head?.phase ?? null;
  if (!report.ok || report.justified !== true || newest === undefined || newest.lineage === null) {
    const empty = report.ok && newest === undefined;
    return { runId, state: empty ? 'open' : 'invalid', phase };
  }
  const opened = (await store.list(`${runId}/lineages`)).length + 1;
  if (newest.lineage < opened) return { runId, state: 'open', phase };
  const folder = path.join(root, runId, lineageFolder(newest.lineage));
  if (existsSync(path.join(folder, RETIRED_FILE_NAME))) {
    const left = readdirSync(folder).some((name) => /^checkpoint-[0-9]{20}\.json$/.test(name));
    return { runId, state: left ? 'leftover' : 'retired', folder };
  }
  if (phase === 'aborted') return { runId, state: 'aborted', phase };
  if (phase !== 'completed') return { runId, state: 'open', phase };
  const { minimumAgeSeconds, plannedAt } = rule;
  const policy = JournalRetentionPolicy.create({ minimumAgeSeconds });
  const plan = await new CheckpointJournal(folder).planRetirement({ policy, now: plannedAt });
  if (plan === null) return { runId, state: 'young', phase };
  return { runId, state: 'retirable', plan, folder };
}

/** Carries out what was planned, and verifies what is left. `now` is the present time in Unix seconds. */
export async function retire(root: string, { runId, folder, ...planned }: Retirable, now: bigint): Promise<void> {
  const lineage = new CheckpointJournal(folder);
  if (planned.state === 'leftover') {
    const number = Number(/lineage-([0-9]+)$/.exec(folder)?.[1]);
    const chain = await new Journal(fileStore(root)).chain(runId, number);
    await lineage.finishRetirement(chain.map(({ checkpointDigest }) => checkpointDigest));
  } else {
    const { plan } = planned;
    await lineage.retire({ plan, confirmation: JournalRetirementPlan.confirmationToken(plan), now });
  }
  const report = await verifyJournal(storeView(fileStore(root), runId));
  if (report.ok && report.justified === true) return;
  throw new Refusal('journal_invalid', 'does not verify since it was retired; put it back from a copy', runId);
}

export type Retirable = Extract<Retirement, { folder: string }> & { readonly state: 'retirable' | 'leftover' };

export function isRetirable(one: Retirement): one is Retirable {
  return one.state === 'retirable' || one.state === 'leftover';
}

/** What a person confirms: the plans as they were shown, and the time that they were made for. */
export function confirmationOf(runs: readonly Retirable[], { plannedAt, minimumAgeSeconds }: RetentionRule): string {
  const plans = runs.map((one) => (one.state === 'retirable' ? one.plan.planDigest : `leftover:${one.runId}`));
  const [first] = plans;
  const one = runs.length === 1 && runs[0]?.state === 'retirable' ? first : undefined;
  return `${plannedAt}/confirm:${one ?? sha256Digest([String(minimumAgeSeconds), ...plans].join('\n'))}`;
}
