/**
 * `contents erase`, `contents rotate`, `contents keys`, and commands over an encrypted content store.
 *
 * Held here:
 * - erasing a run deletes its salt, operations and results and nothing else, also when it is done twice or cut short; the journal
 *   keeps every byte and verifies; a run that is not over is refused unless it is forced
 * - once the salt is gone, nothing that is left, journal and contents together, lets a small operation be guessed
 * - an encrypted store is refused without its key ring, and opened with it, by every command that reads or adds contents
 * - keys are made, used, rotated and dropped; a key that contents need is dropped only by who says that they may be lost
 */
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { contentKeysFromFile, encryptedContents, fileStore } from '../../src/adapters/stores';
import { runCli } from '../../src/cli/program';
import { eraseContents } from '../../src/erase-contents';
import { contentEntries } from '../../src/transfer/run-contents';
import { draftFromJson, planFromDraft } from '../../src/rules/plans/draft';
import { verify } from '../../src/verify';
import { writeFiles } from '../verify/sample-journal';
import { files, json, useSampleFolder } from './sample-folder';

const here = useSampleFolder();
const { at } = here;

/** The same run before its last checkpoint. */
function reopen(): void {
  const last = here.sample.sample.chain.at(-1)!;
  const name = `checkpoint-${String(last.sequence).padStart(20, '0')}.json`;
  rmSync(at('journal', here.runId, 'lineage-0001', name));
  rmSync(at('journal', here.runId, 'witnesses', last.checkpointDigest.slice(7)), { recursive: true });
}

describe('contents erase', () => {
  it('takes what the run was about, and nothing of the journal', async () => {
    const [journal, contents] = [files(at('journal')), files(at('journal-contents'))];
    const store = fileStore(at('journal-contents'));
    const key = here.sample.sample.keys[0];
    const result = 'ab'.repeat(32);
    await store.create(`recalled/${key}`, Buffer.from(`sha256:${result}`));
    await store.create(`results/${result}`, Buffer.from('what the sink gave back'));
    const gone = await json('contents', 'erase', here.runId, '--journal', at('journal'));
    expect(gone).toMatchObject({ ok: true, code: 0, data: { run_id: here.runId, force: false } });
    expect(gone.data?.['paths']).toContain(`results/${result}`);
    expect(Object.keys(files(at('journal-contents')))).toEqual(['salts/of-another-run']);
    expect(contents['salts/of-another-run']).toBe(files(at('journal-contents'))['salts/of-another-run']);
    expect(files(at('journal'))).toEqual(journal);
    expect(await verify(at('journal'), { strict: true })).toMatchObject({ ok: true, valid: true, justified: true });
    expect(await json('contents', 'erase', here.runId, '--journal', at('journal'))).toMatchObject({ code: 0 });
    expect(await json('inspect', here.runId, '--offline', '--journal', at('journal'))).toMatchObject({ code: 0 });
    expect(await json('plan', at('draft.json'), '--journal', at('journal'))).toMatchObject({ code: 2 });
  });

  it('is finished by the next one when it was cut short anywhere', async () => {
    const key = here.sample.sample.keys[1];
    const result = 'cd'.repeat(32);
    for (let stop = 0; stop < 7; stop += 1) {
      rmSync(at('journal-contents'), { recursive: true });
      writeFiles(at('journal-contents'), here.sample.contents.entries);
      const store = fileStore(at('journal-contents'));
      await store.create(`recalled/${key}`, Buffer.from(`sha256:${result}`));
      await store.create(`results/${result}`, Buffer.from('what the sink gave back'));
      let deleted = 0;
      const broken = Object.assign(Object.create(store) as typeof store, {
        scope: store.scope,
        read: (name: string) => store.read(name),
        delete: async (name: string) => {
          if (deleted === stop) throw new Error('the process ends here');
          deleted += 1;
          await store.delete(name);
        },
      });
      const journal = fileStore(at('journal'));
      await eraseContents(journal, broken, here.runId).catch(() => undefined);
      if (deleted > 0) expect(await store.read(`salts/${here.runId}`)).toBeNull();
      await eraseContents(journal, store, here.runId);
      expect(Object.keys(files(at('journal-contents')))).toEqual(['salts/of-another-run']);
    }
  });

  it('refuses a run that is not over, and one that is not known', async () => {
    reopen();
    const before = files(at('journal-contents'));
    const refused = await json('contents', 'erase', here.runId, '--journal', at('journal'));
    expect(refused).toMatchObject({ ok: false, code: 6, error: { code: 'run_open' } });
    expect(refused.error?.message).toMatch(/stands at dispatching in lineage-0001/);
    const nobody = `run_${'9'.repeat(32)}`;
    const unknown = await json('contents', 'erase', nobody, '--journal', at('journal'), '--force');
    expect(unknown).toMatchObject({ ok: false, code: 2, error: { code: 'unknown_run' } });
    expect(files(at('journal-contents'))).toEqual(before);
    const forced = await json('contents', 'erase', here.runId, '--journal', at('journal'), '--force');
    expect(forced).toMatchObject({ ok: true, code: 0, data: { force: true } });
    expect(Object.keys(files(at('journal-contents')))).toEqual(['salts/of-another-run']);
    expect(await verify(at('journal'), { strict: true })).toMatchObject({ ok: true, valid: true, justified: true });
  });

  it('leaves nothing by which a small operation could be guessed', async () => {
    const { plan } = here.sample.sample;
    /** What somebody holds who knows the draft but for one small field, and everything that is left. */
    const guess = (salt: string): string | undefined => {
      const draft = {
        workflow_id: 'workflow:example.org/sample@1.0.0',
        name: 'sample',
        effects: ['a', 'b'].map((id) => ({
          id,
          tool_id: `tool:example.org/${id}@1.0.0`,
          kind: 'local_tool',
          operation: { id },
        })),
      };
      return planFromDraft(draftFromJson(draft), salt).plan.effects[0]?.operationDigest;
    };
    const salt = readFileSync(at('journal-contents', 'salts', here.runId), 'utf8');
    expect(guess(salt)).toBe(plan.effects[0]?.operationDigest); // with the salt it can be
    await json('contents', 'erase', here.runId, '--journal', at('journal'));
    const left = Object.values({ ...files(at('journal')), ...files(at('journal-contents')) }).join('\n');
    const hex = left.match(/[0-9a-f]{64}/g) ?? [];
    expect(hex.length).toBeGreaterThan(20);
    expect(left.includes(salt)).toBe(here.sample.contents.entries.has('salts/of-another-run'));
    for (const one of new Set(hex)) if (one !== salt) expect(guess(one)).not.toBe(plan.effects[0]?.operationDigest);
  });
});

describe('an encrypted content store', () => {
  const ring = (): readonly string[] => ['--content-keys', at('ring.json')];
  const store = (): readonly string[] => ['--journal', at('journal'), '--contents', at('sealed')];

  async function seal(): Promise<void> {
    expect(await json('contents', 'keys', 'new', 'k1', ...ring())).toMatchObject({ code: 0, data: { current: 'k1' } });
    expect(statSync(at('ring.json')).mode & 0o777).toBe(0o600);
    const sealed = encryptedContents(
      fileStore(at('sealed'), { createRoot: true }),
      contentKeysFromFile(at('ring.json')),
    );
    for (const [name, bytes] of here.sample.contents.entries) await sealed.create(name, bytes);
  }

  it('is opened with its key ring only', async () => {
    await seal();
    const out = at('run.export');
    const closed = await json('export', at('journal'), here.runId, '-o', out, '--contents', at('sealed'));
    expect(closed).toMatchObject({ code: 2, error: { code: 'invalid_argument', field: 'content_keys' } });
    expect(existsSync(out)).toBe(false);
    const draft = {
      workflow_id: 'workflow:example.org/other@1.0.0',
      name: 'other',
      effects: [{ id: 'e', tool_id: 'tool:example.org/a@1.0.0', kind: 'local_tool', operation: { secret: 'planted' } }],
    };
    writeFileSync(at('draft.json'), JSON.stringify(draft));
    expect(await json('plan', at('draft.json'), ...store())).toMatchObject({
      code: 2,
      error: { field: 'content_keys' },
    });
    expect(await json('plan', at('draft.json'), ...store(), ...ring())).toMatchObject({ code: 0 });
    expect(Object.values(files(at('sealed'))).join()).not.toContain('planted');
    const open = await json('export', at('journal'), here.runId, '-o', out, '--contents', at('sealed'), ...ring());
    expect(open).toMatchObject({ code: 0, data: { contents: true, missing_operations: 0 } });
    const placed = await json('journal', 'init', at('new'), '--from', out, ...ring());
    expect(placed).toMatchObject({ code: 0 });
    expect(Object.values(files(at('new-contents'))).join()).not.toContain('"id":"a"');
    const there = encryptedContents(fileStore(at('new-contents')), contentKeysFromFile(at('ring.json')));
    const wanted = await contentEntries(fileStore(at('new')), there, here.runId);
    expect(wanted).toHaveLength(3);
    for (const name of wanted)
      expect(await there.read(name)).toEqual(Uint8Array.from(here.sample.contents.entries.get(name)!));
  });

  it('is rotated, and a key that it needs is not dropped by accident', async () => {
    await seal();
    await json('contents', 'keys', 'new', 'k2', '--current', ...ring());
    const needed = await json('contents', 'keys', 'drop', 'k1', ...ring(), ...store());
    expect(needed).toMatchObject({ code: 2, error: { code: 'invalid_argument' } });
    expect(needed.error?.message).toContain('1 data key of this content store opens with k1 alone');
    expect(await json('contents', 'rotate', ...store(), ...ring())).toMatchObject({
      code: 0,
      data: { current: 'k2', data_keys: 1, added: 1, removed: 1, locked: [] },
    });
    expect((await json('contents', 'keys', 'list', ...store(), ...ring())).data?.['keys']).toEqual([
      { id: 'k1', current: false, held: true, data_keys: 0, only: 0 },
      { id: 'k2', current: true, held: true, data_keys: 1, only: 1 },
    ]);
    expect(await json('contents', 'keys', 'drop', 'k1', ...ring(), ...store())).toMatchObject({ code: 0 });
    const sealed = encryptedContents(fileStore(at('sealed')), contentKeysFromFile(at('ring.json')));
    for (const [name, bytes] of here.sample.contents.entries)
      expect(await sealed.read(name)).toEqual(Uint8Array.from(bytes));

    await json('contents', 'keys', 'new', 'k3', '--current', ...ring());
    const shred = await json('contents', 'keys', 'drop', 'k2', '--shred', ...ring(), ...store());
    expect(shred).toMatchObject({ code: 0, data: { lost_data_keys: 1 } });
    const lost = await json('export', at('journal'), here.runId, '-o', at('x'), '--contents', at('sealed'), ...ring());
    expect(lost).toMatchObject({ code: 1, error: { code: 'store_unavailable' } });
    expect(lost.error?.message).toContain('master key k2');
    const rotated = await json('contents', 'rotate', ...store(), ...ring());
    expect(rotated).toMatchObject({ ok: false, code: 2, error: { code: 'key_unknown' } });
    expect(await verify(at('journal'), { strict: true })).toMatchObject({ ok: true, justified: true });
  });

  it('says what is wrong with a key ring', async () => {
    await seal();
    expect(await json('contents', 'keys', 'new', 'k1', ...ring())).toMatchObject({
      code: 6,
      error: { code: 'key_exists' },
    });
    expect(await json('contents', 'keys', 'use', 'k9', ...ring())).toMatchObject({ error: { code: 'key_unknown' } });
    expect(await json('contents', 'keys', 'list')).toMatchObject({ code: 2, error: { field: 'content_keys' } });
    process.env['COUNTERSIGN_CONTENT_KEYS'] = at('ring.json');
    const streams = { out: () => undefined, err: () => undefined };
    expect(await runCli(['contents', 'keys', 'list'], streams, new AbortController().signal)).toBe(0);
    chmodSync(at('ring.json'), 0o644);
    expect(await json('contents', 'keys', 'list', ...ring())).toMatchObject({ error: { code: 'input_unprotected' } });
    const out = at('x');
    const closed = await json('export', at('journal'), here.runId, '-o', out, '--contents', at('sealed'), ...ring());
    expect(closed).toMatchObject({ code: 1, error: { code: 'store_unavailable' } });
    expect(closed.error?.message).toContain('chmod 600');
  });
});
