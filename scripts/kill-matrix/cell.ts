/**
 * Runs one cell of the matrix: play, count, audit, judge. Invariant: a cell that cannot be played is wrong, never left out.
 */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileStore } from '../../src/adapters/stores';
import { isFolderAddress } from '../../src/adapters/stores/open-store';
import { copyJournal } from '../../src/transfer';
import { audit } from './audit';
import { JOURNALS, type JournalName } from './journals';
import { rowOf, type FaultName } from './rows';
import { Scene, type SceneEnd } from './scene';
import { COLUMNS, type SinkName } from './sinks';
import type { Stage } from './stage';
import { judgeCell, type CellRules, type Verdict } from './verdict';

export interface Cell {
  readonly fault: FaultName;
  readonly sink: SinkName;
}

export interface CellReport extends Cell {
  readonly verdict: Verdict;
  readonly tookMs: number;
  readonly writes: readonly number[];
  readonly notes: readonly string[];
  /** Kept only when the cell is wrong: journal, histories, workers' log. */
  readonly folder: string | null;
}

export function rulesOf({ fault, sink }: Cell, journals: JournalName = 'files'): Omit<CellRules, 'boundMs'> {
  const row = rowOf(fault);
  const column = COLUMNS[sink];
  return {
    mayPark: column.mayAsk && (row.inDoubt || (JOURNALS[journals].joint && row.inDoubtWhenJoint === true)),
    mayDuplicate: row.pausedInClient === true && !column.enforces,
  };
}

export async function runCell(stage: Stage, cell: Cell): Promise<CellReport> {
  const row = rowOf(cell.fault);
  const scene = await Scene.open(stage, cell.sink, `${cell.fault}-${cell.sink}`, row);
  try {
    let end: SceneEnd = { end: 'hung', outcome: null };
    try {
      end = await row.play(scene);
      scene.problems.push(...(await audit(scene, end)));
    } catch (fault) {
      scene.problems.push(fault instanceof Error ? fault.message : String(fault));
    }
    const writes = await writesOf(scene);
    const facts = { end: end.end, writes: writes ?? [], tookMs: scene.tookMs, problems: scene.problems };
    const verdict = judgeCell(facts, { ...rulesOf(cell, stage.journals), boundMs: scene.boundMs });
    const folder = verdict.right ? null : await keep(scene, { ...cell, ...facts, verdict });
    return { ...cell, verdict, tookMs: scene.tookMs, writes: facts.writes, notes: scene.notes, folder };
  } finally {
    await scene.close();
    await rm(scene.folder, { recursive: true, force: true });
  }
}

/** Puts what a wrong cell left behind where it stays; a journal elsewhere, as far as it can be read, comes as a folder. */
async function keep(scene: Scene, report: unknown): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'kill-matrix-wrong-'));
  await cp(scene.folder, folder, { recursive: true });
  if (!isFolderAddress(scene.journal)) {
    await copyJournal(scene.store, fileStore(path.join(folder, 'journal'), { createRoot: true })).catch(
      () => undefined,
    );
  }
  await writeFile(path.join(folder, 'cell.json'), JSON.stringify(report, null, 2));
  return folder;
}

async function writesOf(scene: Scene): Promise<readonly number[] | null> {
  try {
    const counts = await Promise.all(scene.keys.map((key) => scene.receiver.counts(key)));
    return counts.map(({ writes }) => writes);
  } catch (fault) {
    scene.problems.push(fault instanceof Error ? fault.message : String(fault));
    return null;
  }
}
