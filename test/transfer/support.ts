/** Journals in memory, and exports of their runs. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Store } from '../../src/ports';
import { draftFromJson, planFromDraft } from '../../src/rules/plans/draft';
import { exportRun, readExport, type ByteSource, type ExportedRun } from '../../src/transfer';
import { MemoryStore } from '../activities/simulation/store';
import { sampleJournal, type SampleJournal } from '../verify/sample-journal';

/** The simulation's store, which can also list its top. */
export class WholeStore extends MemoryStore {
  constructor(files: Iterable<readonly [string, Uint8Array]> = []) {
    super();
    for (const [name, bytes] of files) this.put(name, bytes);
  }

  override names(prefix: string, after = ''): readonly string[] {
    if (prefix !== '') return super.names(prefix, after);
    const tops = [...this.entries.keys()].map((name) => name.replace(/\/.*$/, '/'));
    return [...new Set(tops)].filter((name) => name > after).sort();
  }
}

export interface Sample {
  readonly sample: SampleJournal;
  readonly runId: string;
  readonly journal: WholeStore;
  readonly contents: WholeStore;
}

/** The sample journal with the contents that its plan was made of. */
export async function sampleRun(name = 'sample'): Promise<Sample> {
  const sample = await sampleJournal(name);
  const salt = 'ab'.repeat(32);
  const effects = ['a', 'b'].map((id) => ({
    id,
    tool_id: `tool:example.org/${id}@1.0.0`,
    kind: 'local_tool',
    operation: { id },
  }));
  const draft = { workflow_id: 'workflow:example.org/sample@1.0.0', name, effects };
  const { envelopes } = planFromDraft(draftFromJson(draft), salt);
  const contents = new WholeStore([
    [`salts/${sample.run}`, Buffer.from(salt)],
    ['salts/of-another-run', Buffer.from(salt)],
    ...envelopes.map(({ digest, text }) => [`operations/${digest.slice(7)}`, Buffer.from(text)] as const),
  ]);
  return { sample, runId: sample.run, journal: new WholeStore(sample.files), contents };
}

export function source(bytes: Uint8Array): ByteSource {
  return { read: (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)) };
}

export const opened = (bytes: Uint8Array): Promise<ExportedRun> => readExport(source(bytes));

/** The bytes of an export. */
export async function exported(journal: Store, contents: Store | null, runId: string): Promise<Buffer> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'export-'));
  try {
    const file = path.join(folder, 'run.export');
    await exportRun(journal, contents, runId, file);
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
