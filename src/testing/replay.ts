/**
 * One call for a user's CI: replays recorded histories with the present workflow code, and holds what they prove against the
 * journal. Invariant: a history that passes runs on with this code, and every checkpoint that it proves stands in the journal.
 */
import { Worker, type ReplayWorkerOptions } from '@temporalio/worker';
import { Journal } from '../activities/journal';
import type { Store } from '../ports';
import { readChains, type ProvenChain } from '../verify/history-chain';
import { historiesIn, readHistory, type ReadableHistory, type RecordedHistory } from './history-file';

/** Which histories are replayed, and against which journal. */
export interface ReplayAndVerifyOptions extends ReplayWorkerOptions {
  /** A folder of JSON files, or the histories themselves. */
  readonly histories: string | Iterable<RecordedHistory> | AsyncIterable<RecordedHistory>;
  /** The journal that the histories belong to. Without it they are only replayed. */
  readonly journal?: Store;
}

/** What is wrong with one history. `replay`: with this code; `chain`: with what it proves; `journal`: the journal says otherwise. */
export interface ReplayFailure {
  readonly workflowId: string;
  readonly kind: 'replay' | 'chain' | 'journal';
  readonly message: string;
}

/** What was replayed and verified. */
export interface ReplayReport {
  /** Histories that were replayed. */
  readonly replayed: number;
  /** Checkpoints that histories prove and that were looked up in the journal. */
  readonly checked: number;
  readonly failures: readonly ReplayFailure[];
}

/** Reports whatever is wrong with the histories; throws only when nothing can be replayed at all, as without workflow code. */
export async function replayAndVerify(options: ReplayAndVerifyOptions): Promise<ReplayReport> {
  const { histories, journal, ...replay } = options;
  const failures: ReplayFailure[] = [];
  const readable: ReadableHistory[] = [];
  for await (const entry of typeof histories === 'string' ? historiesIn(histories) : histories) {
    const read = readEntry(entry);
    if ('message' in read) failures.push(read);
    else readable.push(read);
  }
  for await (const { workflowId, error } of Worker.runReplayHistories(replay, readable)) {
    if (error !== undefined) failures.push({ workflowId, kind: 'replay', message: error.message });
  }
  const shelf = journal === undefined ? null : new Shelf(new Journal(journal));
  let checked = 0;
  for (const { workflowId, json } of shelf === null ? [] : readable) {
    const { chains, problems } = await readChains(json, options.dataConverter);
    failures.push(...problems.map((message) => ({ workflowId, kind: 'chain' as const, message })));
    for (const chain of chains) {
      checked += chain.digests.size;
      const messages = (await shelf?.compare(chain)) ?? [];
      failures.push(...messages.map((message) => ({ workflowId, kind: 'journal' as const, message })));
    }
  }
  return { replayed: readable.length, checked, failures };
}

/** As `replayAndVerify`, but throws when there is any failure, or when there was nothing to replay. */
export async function assertReplayAndVerify(options: ReplayAndVerifyOptions): Promise<ReplayReport> {
  const report = await replayAndVerify(options);
  if (report.failures.length > 0) {
    const lines = report.failures.map(({ workflowId, kind, message }) => `  ${workflowId} (${kind}): ${message}`);
    throw new Error(`${report.failures.length} findings in ${report.replayed} histories:\n${lines.join('\n')}`);
  }
  if (report.replayed === 0) throw new Error('There is no history to replay; check the folder that "histories" names.');
  return report;
}

function readEntry(entry: RecordedHistory & { readonly file?: string }): ReplayFailure | ReadableHistory {
  try {
    return readHistory(entry);
  } catch (fault) {
    const workflowId = entry.workflowId ?? entry.file ?? '(unnamed)';
    return { workflowId, kind: 'replay', message: (fault as Error).message };
  }
}

/** The journal's chains, each read and validated once. */
class Shelf {
  private readonly chains = new Map<string, Promise<readonly string[]>>();

  constructor(private readonly journal: Journal) {}

  async compare(chain: ProvenChain): Promise<readonly string[]> {
    const { runId, lineage } = chain;
    if (chain.digests.size === 0) return []; // a preview, or a plan that was refused before anything happened
    try {
      const journalId = await this.journal.id();
      if (chain.journalId !== journalId)
        return [`run ${runId} belongs to journal ${chain.journalId}, not ${journalId}`];
      const digests = await this.digests(runId, lineage);
      return [...chain.digests].flatMap(([sequence, digest]) =>
        digests[sequence] === digest
          ? []
          : [
              `checkpoint ${sequence} of ${runId} is ${digests[sequence] ?? 'missing'}, but the history proves ${digest}`,
            ],
      );
    } catch (fault) {
      return [`run ${runId} cannot be read from the journal: ${(fault as Error).message}`];
    }
  }

  private digests(runId: string, lineage: number): Promise<readonly string[]> {
    const id = `${runId}/${lineage}`;
    const known = this.chains.get(id);
    if (known !== undefined) return known;
    const read = this.journal.chain(runId, lineage).then((all) => all.map((one) => one.checkpointDigest));
    this.chains.set(id, read);
    return read;
  }
}
