/**
 * The contents of launches and of runs of checks, exported and placed elsewhere.
 *
 * Held here:
 * - what a launch, of content or of a Ref, or a run of checks has in a content store goes along, byte by byte, and nothing of others;
 * - each content that was exchanged, in a file that was sealed again, is refused, and both targets stay as they are;
 * - so is a content that the run does not lead to, and a second call.
 */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { putContent } from '../../src';
import { importRun } from '../../src/transfer';
import { LaunchBench } from '../activities/launch-bench';
import { RunBench } from '../activities/run-bench';
import { MemoryStore } from '../activities/simulation/store';
import { draft } from '../workflows/verification/drafts';
import { WholeStore, exported, opened } from './support';

interface Exporting {
  readonly runId: string;
  readonly journal: WholeStore;
  readonly contents: WholeStore;
}
const exporting = (runId: unknown, journal: MemoryStore, contents: MemoryStore): Exporting => ({
  runId: String(runId),
  journal: new WholeStore(journal.entries),
  contents: new WholeStore(contents.entries),
});

async function launched(context?: (kept: MemoryStore) => unknown): Promise<Exporting> {
  const bench = await LaunchBench.make('one', new MemoryStore(), context);
  await bench.launch();
  await bench.launched[0]?.door.submit({ said: 'planted-output' });
  return exporting(bench.record['run_id'], bench.store, bench.kept);
}

const KINDS: Readonly<Record<string, () => Promise<Exporting>>> = {
  'a launch of content': () => launched(),
  'a launch of a Ref': () => launched((kept) => putContent(kept, { prompt: 'by itself' })),
  'a run of checks': async () => {
    const bench = new RunBench();
    const { runId } = await bench.carry(await bench.prepare(draft(2, 2)));
    return exporting(runId, bench.journal, bench.kept);
  },
};
/** What each has, by the folders of a content store. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  'a launch of content': ['launches', 'results', 'salts'],
  'a launch of a Ref': ['launches', 'results', 'salts', 'values'],
  'a run of checks': ['configurations', 'recalled', 'results', 'salts'],
};

const sorted = ({ entries }: WholeStore): readonly (readonly [string, string])[] =>
  [...entries].map(([name, bytes]) => [name, Buffer.from(bytes).toString()] as const).sort();

interface Content {
  readonly store: string;
  path: string;
  text: string;
}

/** The file with these contents, sealed again. */
function sealed(file: Buffer, change: (contents: Content[]) => readonly Content[]): Buffer {
  const [header = '', ...rest] = file.toString('latin1').trimEnd().split('\n');
  const entries = rest.slice(0, -1).map((line) => JSON.parse(line) as Content);
  const ofContents = change(entries.filter(({ store }) => store === 'contents'));
  const all = [...entries.filter(({ store }) => store === 'journal'), ...ofContents];
  const lines = [header, ...all.map(({ store, path, text }) => JSON.stringify({ path, store, text }))];
  const digest = createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('hex');
  return Buffer.from(
    [...lines, JSON.stringify({ digest: `sha256:${digest}`, entries: all.length }), ''].join('\n'),
    'latin1',
  );
}

/** Something else that could stand there. */
const OTHER: Readonly<Record<string, (text: string) => string>> = {
  salts: () => 'ef'.repeat(32),
  launches: () => `run_${'9'.repeat(32)}`,
  recalled: () => `sha256:${'9'.repeat(64)}`,
  results: (text) => text.replace('"salt":"', '"salt":"0'),
  values: (text) => text.replace('"salt":"', '"salt":"0'),
  configurations: (text) => text.replace(/\d/, '9'),
};
const exchanged = ({ path, text }: Content): string => (OTHER[path.split('/')[0] ?? ''] ?? String)(text);

async function refused(file: Buffer, journal: WholeStore, contents: WholeStore): Promise<void> {
  const before = [sorted(journal), sorted(contents)];
  const placing = async (): Promise<unknown> => importRun(await opened(file), journal, contents);
  await expect(placing()).rejects.toMatchObject({ name: 'Refusal', code: 'invalid_record' });
  expect([sorted(journal), sorted(contents)]).toEqual(before);
}

describe.each(Object.keys(KINDS))('%s', (kind) => {
  const made = KINDS[kind]!;

  it('is all there where it is placed', async () => {
    const { runId, journal, contents } = await made();
    const own = sorted(contents);
    expect([...new Set(own.map(([name]) => name.split('/')[0]))]).toEqual(FOLDERS[kind]);
    const others = new MemoryStore();
    for (const other of Object.values(KINDS).filter((one) => one !== made)) {
      for (const [name, bytes] of (await other()).contents.entries) others.put(name, bytes);
    }
    const shared = new Set(own.map(([name]) => name));
    for (const [name, bytes] of others.entries) if (!shared.has(name)) contents.put(name, bytes);
    const [to, beside] = [new WholeStore(), new WholeStore()];
    const run = await opened(await exported(journal, contents, runId));
    expect(await importRun(run, to, beside)).toMatchObject({ state: 'placed' });
    expect(sorted(to)).toEqual(sorted(journal));
    expect(sorted(beside)).toEqual(own);
    expect(await exported(to, beside, runId)).toEqual(await exported(journal, contents, runId));
  });

  it('is refused where any content was exchanged', async () => {
    const { runId, journal, contents } = await made();
    const file = await exported(journal, contents, runId);
    expect(sealed(file, (all) => all)).toEqual(file);
    for (const [name] of sorted(contents)) {
      const changed = sealed(file, (all) =>
        all.map((one) => (one.path === name ? { ...one, text: exchanged(one) } : one)),
      );
      expect(changed).not.toEqual(file);
      await refused(changed, new WholeStore(), new WholeStore());
      await refused(changed, new WholeStore(journal.entries), new WholeStore());
    }
  });

  it('is refused with a content that is of no run, or of another', async () => {
    const { runId, journal, contents } = await made();
    const file = await exported(journal, contents, runId);
    const empty = createHash('sha256').update('{}').digest('hex');
    const others: readonly Omit<Content, 'store'>[] = [
      { path: `results/${empty}`, text: '{}' },
      { path: `values/${empty}`, text: '{}' },
      { path: `salts/cap_${'0'.repeat(32)}`, text: 'ef'.repeat(32) },
      { path: `salts/doc_${'0'.repeat(64)}`, text: 'ef'.repeat(32) },
      { path: `launches/cap_${'0'.repeat(32)}`, text: runId },
      { path: `recalled/${runId}.check-99`, text: `sha256:${empty}` },
    ];
    for (const other of others) {
      const more = sealed(file, (all) =>
        [...all, { store: 'contents', ...other }].sort((one, two) => (one.path < two.path ? -1 : 1)),
      );
      await refused(more, new WholeStore(), new WholeStore());
    }
  });
});
