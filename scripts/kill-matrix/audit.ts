/**
 * What is checked after every cell, whatever was done to it. Invariant: the checks use only what the cell left behind: the
 * journal, the histories, and the sink's own counts.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Journal, lineageFolder } from '../../src/activities/journal';
import { CheckpointJournal } from '../../src/adapters/stores';
import { isFolderAddress } from '../../src/adapters/stores/open-store';
import { carrierWorkflowId } from '../../src/rules/plans/identity';
import { isTerminalPhase } from '../../src/rules/recovery';
import { storeView, verifyJournal } from '../../src/verify';
import type { Scene, SceneEnd } from './scene';

const LINEAGE = 1;

/** Everything that is wrong, each in one line; nothing when all is sound. */
export async function audit(scene: Scene, end: SceneEnd): Promise<readonly string[]> {
  const checks = [journalIsSound(scene, end), ...scene.executions.map((_, index) => replays(scene, index))];
  return (await Promise.all(checks)).flat();
}

async function journalIsSound(scene: Scene, { end, outcome }: SceneEnd): Promise<readonly string[]> {
  const { runId } = scene.plan;
  const journal = new Journal(scene.store);
  try {
    const chain = await journal.chain(runId, LINEAGE);
    const wrong: string[] = [];
    // A cell that hangs may append meanwhile.
    if (end !== 'hung') wrong.push(...(await verifies(scene)), ...(await loadsAs(chain, scene)));
    for (const [index, next] of chain.entries()) {
      const previous = chain[index - 1];
      if (previous !== undefined && (await journal.justification(runId, previous, next)) === null) {
        wrong.push(`checkpoint ${index} has no witness`);
      }
    }
    const head = chain.at(-1);
    if (end === 'completed' && head?.phase !== 'completed') wrong.push('the chain is not completed');
    if (end === 'parked' && head !== undefined && isTerminalPhase(head.phase)) wrong.push('parked on a closed chain');
    if (outcome !== null && outcome.head?.digest !== head?.checkpointDigest) wrong.push('outcome and chain differ');
    if (outcome?.effects.some((effect) => effect.state !== 'committed') === true)
      wrong.push('an effect is not committed');
    return wrong;
  } catch (fault) {
    return [`the journal is refused: ${fault instanceof Error ? fault.message : String(fault)}`];
  }
}

async function verifies(scene: Scene): Promise<readonly string[]> {
  const { valid, justified } = await verifyJournal(storeView(scene.store));
  return [...(valid ? [] : ['the journal is not valid']), ...(justified === true ? [] : ['it is not justified'])];
}

/** Only a folder is shared with the library that reads it file by file. */
async function loadsAs(chain: unknown, scene: Scene): Promise<readonly string[]> {
  if (!isFolderAddress(scene.journal)) return [];
  const folder = path.join(scene.journal, scene.plan.runId, lineageFolder(LINEAGE));
  const loaded = await new CheckpointJournal(folder).load();
  return JSON.stringify(digests(loaded)) === JSON.stringify(digests(chain))
    ? []
    : ['the folder loads as another chain'];
}

function digests(chain: unknown): readonly unknown[] {
  return Array.isArray(chain) ? chain.map((one: { checkpointDigest: string }) => one.checkpointDigest) : [chain];
}

async function replays(scene: Scene, index: number): Promise<readonly string[]> {
  const execution = scene.executions[index];
  if (execution === undefined) return [];
  const workflowId = carrierWorkflowId(scene.plan.runId);
  const history = await execution.client.workflow.getHandle(workflowId, execution.runId).fetchHistory();
  await writeFile(path.join(scene.folder, `history-${index}.json`), JSON.stringify(history, null, 1));
  const fault = await scene.stage.replayer.replay(workflowId, history);
  return fault === null ? [] : [`history ${index} does not replay: ${fault}`];
}
