/**
 * How fast `verify` is, and how much memory it takes as a chain grows: `npx tsx bench/verify.ts [--json] [checkpoints…]`.
 *
 * A generated run of 10 effects that is looked at again and again: every checkpoint has its witness, and everything is
 * read from disk: files, digests, keys, lineage rule, justification.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { journalToText } from '../src/rules/journal-record';
import { contentJson } from '../src/rules/plans/content-json';
import { createPlan, openingCheckpoint, planToRecord } from '../src/rules/plans/plan';
import { RecoveryCheckpoint, checkpointFileName, sha256Digest, sha256Hex } from '../src/rules/recovery';
import { deriveNext, witnessToText } from '../src/rules/sends/witness';
import { diskView, verifyJournal, type JournalView } from '../src/verify';

export interface VerifyRate {
  readonly checkpoints: number;
  /** Per second of the processor's time, so that other load on the machine does not count. */
  readonly perCpuSecond: number;
  readonly perSecond: number;
  /** Most that was alive on the heap at once, the program itself included. */
  readonly liveMegabytes: number;
}

const EFFECTS = 10;

/** Writes a journal with one long lineage, unsynced. */
export function makeLongJournal(folder: string, checkpoints: number): void {
  const runId = `run_${sha256Hex('long run').slice(0, 32)}`;
  const plan = createPlan({
    workflowId: 'workflow:example.org/bench@1.0.0',
    runId,
    order: 'ordered',
    origin: null,
    requester: null,
    effects: Array.from({ length: EFFECTS }, (_, index) => ({
      actionId: `act_${sha256Hex(`action ${index}`).slice(0, 32)}`,
      toolId: 'tool:example.org/reserve@1.0.0',
      kind: 'local_tool',
      operationDigest: sha256Digest(`operation ${index}`),
      approvalRequired: false,
      compensationLimit: 'none',
    })),
  });
  const run = path.join(folder, runId);
  const lineage = path.join(run, 'lineage-0001');
  mkdirSync(lineage, { recursive: true });
  writeFileSync(path.join(folder, 'journal.json'), journalToText('0'.repeat(32)));
  writeFileSync(path.join(run, 'plan.json'), contentJson(planToRecord(plan)));
  let head = openingCheckpoint(plan);
  for (let index = 0; ; index += 1) {
    writeFileSync(path.join(lineage, checkpointFileName(BigInt(index))), RecoveryCheckpoint.toJson(head));
    if (index + 1 === checkpoints) return;
    const observations = plan.effects.map(() => ({ state: 'ambiguous', doubt: 'lookup_failed' }) as const);
    const draft = { step: 'advance', now: index, observations, refusal: null } as const;
    const { checkpoint } = deriveNext(head, draft);
    const text = witnessToText({ ...draft, checkpointDigest: checkpoint.checkpointDigest });
    const witnesses = path.join(run, 'witnesses', checkpoint.checkpointDigest.slice('sha256:'.length));
    mkdirSync(witnesses, { recursive: true });
    writeFileSync(path.join(witnesses, `${sha256Hex(text)}.json`), text);
    head = checkpoint;
  }
}

export async function measureVerify(checkpoints: number, rounds = 3): Promise<VerifyRate> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'countersign-verify-'));
  try {
    makeLongJournal(folder, checkpoints);
    const times: number[] = [];
    const cpu: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const start = performance.now();
      const used = process.cpuUsage();
      const report = await verifyJournal(diskView(folder), { strict: true });
      times.push(performance.now() - start);
      const { user, system } = process.cpuUsage(used);
      cpu.push((user + system) / 1e3);
      if (!report.ok || report.checkpoints !== checkpoints) throw new Error('the generated journal must verify');
    }
    return {
      checkpoints,
      perCpuSecond: Math.round((checkpoints * 1000) / median(cpu)),
      perSecond: Math.round((checkpoints * 1000) / median(times)),
      liveMegabytes: await measureMemory(folder),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A pass of its own: what is garbage is collected before each look at the heap. */
async function measureMemory(folder: string): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const view = diskView(folder);
  let peak = 0;
  let reads = 0;
  const watched: JournalView = {
    ...view,
    read: (file) => {
      reads += 1;
      if (reads % 500 === 0) {
        collect();
        peak = Math.max(peak, process.memoryUsage().heapUsed);
      }
      return view.read(file);
    },
  };
  await verifyJournal(watched, { strict: true });
  return Math.round(peak / 1e5) / 10;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

async function main(args: readonly string[]): Promise<void> {
  const sizes = args.filter((arg) => /^[0-9]+$/.test(arg)).map(Number);
  const rates: VerifyRate[] = [];
  for (const checkpoints of sizes.length > 0 ? sizes : [2_000, 5_000, 20_000]) {
    const rate = await measureVerify(checkpoints);
    rates.push(rate);
    if (args.includes('--json')) continue;
    console.log(
      `verify: ${checkpoints} checkpoints of ${EFFECTS} effects with witnesses: ` +
        `${rate.perCpuSecond} per second of one core (${rate.perSecond}/s by the clock), ${rate.liveMegabytes} MB alive`,
    );
  }
  if (args.includes('--json')) console.log(JSON.stringify({ verify: rates }));
}

if (require.main === module) void main(process.argv.slice(2));
