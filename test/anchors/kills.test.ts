/**
 * Properties:
 * - a process that dies before or after any write, while the journal goes on, never leads to two signed trees of one size, and
 *   each signed tree continues the one before; in the end every head is anchored, once
 * - of two processes on one log, at most one goes on, and no size is signed twice, in whatever order their steps come
 * - without its batches a log would be signed twice: that is what they are for
 * - real processes, ended by SIGKILL at each step, leave a log that goes on
 * - a failing store makes the process late, which it says, and nothing else
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { fileStore } from '../../src/adapters/stores';
import { AnchorError, LogReader, anchorJournal, type AnchorProgress } from '../../src/anchor';
import { ANCHOR_STEPS } from '../../src/anchor/log-writer';
import { StoreError, type Store } from '../../src/ports';
import { storeView, verifyJournal } from '../../src/verify';
import { writeFiles } from '../verify/sample-journal';
import { GrowingJournal, Killed, LOG_KEY, MemoryStore } from './scene';

const anchor = (journal: Store, log: Store): Promise<unknown> =>
  anchorJournal({ journal, log, key: LOG_KEY, once: true });

/** Dies at the n-th moment of the log's writes; false when there were fewer. */
async function diesAt(moment: number, journal: Store, log: MemoryStore): Promise<boolean> {
  let left = moment;
  let dead = false;
  log.onWrite = () => {
    if (dead || (left -= 1) > 0) return;
    dead = true;
    throw new Killed();
  };
  try {
    await anchor(journal, log);
    return false;
  } catch (fault) {
    if (fault instanceof Killed) return true;
    throw fault;
  } finally {
    log.onWrite = () => undefined;
  }
}

function expectOneTreeASize({ signed }: MemoryStore): void {
  for (const texts of signed.values()) expect(texts.size).toBe(1);
}

async function expectOneLog(log: Store, sizes: readonly number[]): Promise<void> {
  const reader = new LogReader(log, LOG_KEY);
  let older = await reader.head(0);
  for (const size of [...sizes].sort((a, b) => a - b)) {
    const newer = await reader.head(size);
    expect(await reader.continues(older, newer)).toBe(true);
    older = newer;
  }
}

async function expectAllAnchored(journal: Store, log: Store): Promise<void> {
  const check = { anchors: [{ name: 'log', log }], key: LOG_KEY };
  const report = await verifyJournal(storeView(journal), { anchor: check });
  expect(report.findings.filter(({ code }) => code.startsWith('anchor'))).toEqual([]);
  expect(report.anchors[0]?.notAnchored).toEqual({ lineages: 0, checkpoints: 0 });
}

describe('a process that dies', () => {
  it('at any write, twice, while the journal goes on, forks nothing and loses nothing', async () => {
    let deaths = 0;
    for (let first = 1; ; first += 1) {
      const [journal, log] = [await GrowingJournal.of(2), new MemoryStore()];
      if (!(await diesAt(first, journal.store, log))) break;
      for (const again of [1, 2, 3, 5, 8]) {
        journal.grow(again % 2);
        if (await diesAt(again, journal.store, log)) deaths += 1;
      }
      journal.grow(0);
      await anchor(journal.store, log);
      expectOneTreeASize(log);
      await expectOneLog(log, [...log.signed.keys()]);
      await expectAllAnchored(journal.store, log);
    }
    expect(deaths).toBeGreaterThan(40);
  });

  it('would sign two trees of a size, or be stuck, if its batches were not kept', async () => {
    let forked = 0;
    for (let moment = 1; moment <= 10; moment += 1) {
      const [journal, log] = [await GrowingJournal.of(2), new MemoryStore()];
      const create = log.create.bind(log);
      log.create = (name, bytes) => (name.startsWith('batches/') ? Promise.resolve('created') : create(name, bytes));
      if (!(await diesAt(moment, journal.store, log))) continue;
      journal.grow(0);
      const stuck = await anchor(journal.store, log).catch((fault: unknown) => fault);
      if (stuck instanceof AnchorError || [...log.signed.values()].some((texts) => texts.size > 1)) forked += 1;
    }
    expect(forked).toBeGreaterThan(0);
  });
});

describe('two processes', () => {
  it('never sign two trees of a size, and one of them stops', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(fc.nat(2), { minLength: 2, maxLength: 6 }), async (s, growth) => {
        const [journal, log] = [await GrowingJournal.of(3), new MemoryStore()];
        await anchor(journal.store, log);
        const faults: unknown[] = [];
        const process = async (name: string): Promise<void> => {
          const own = new MemoryStore(log.files);
          own.onWrite = async (moment, file) => {
            if (moment === 'before') await s.schedule(Promise.resolve(), `${name} ${file}`);
          };
          const signed = own.signed;
          for (const place of growth) {
            journal.grow(place);
            await anchorJournal({ journal: journal.store, log: own, key: LOG_KEY, once: true }).catch(
              (fault: unknown) => faults.push(fault),
            );
          }
          for (const [size, texts] of signed) {
            log.signed.set(size, new Set([...(log.signed.get(size) ?? []), ...texts]));
          }
        };
        const both = Promise.all([process('one'), process('other')]);
        await s.waitFor(both);
        for (const fault of faults) expect(fault).toMatchObject({ code: 'anchor_not_alone' });
        await anchor(journal.store, log);
        expectOneTreeASize(log);
        await expectOneLog(log, [...log.signed.keys()]);
        await expectAllAnchored(journal.store, log);
      }),
      { numRuns: 25 },
    );
  });
});

describe('a store that fails', () => {
  it('makes the process late by as long as it fails, and it goes on by itself', async () => {
    const [journal, log] = [await GrowingJournal.of(1), new MemoryStore()];
    const told: AnchorProgress[] = [];
    const stop = new AbortController();
    let failing = 0;
    log.onWrite = (moment, name) => {
      if (failing > 0 && name.startsWith('tile/') && moment === 'after') {
        failing -= 1;
        throw new StoreError('store_unavailable', 'not now');
      }
    };
    let clock = 0;
    failing = 2;
    await anchorJournal({
      journal: journal.store,
      log,
      key: LOG_KEY,
      intervalMs: 1,
      signal: stop.signal,
      monotonicMs: () => (clock += 1_000),
      onProgress: (progress) => {
        told.push(progress);
        if (told.length === 4) stop.abort();
      },
    });
    expect(told.map(({ fault }) => fault)).toEqual(['store_unavailable', 'store_unavailable', null, null]);
    const lags = told.map(({ lagMs }) => lagMs);
    expect(lags[1]).toBeGreaterThan(lags[0] as number);
    expect(lags[2]).toBe(1_000);
    expectOneTreeASize(log);
    await expectAllAnchored(journal.store, log);
  });
});

describe('real processes', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'countersign-anchor-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('ended by SIGKILL at each step leave a log that goes on', async () => {
    const journal = await GrowingJournal.of(1);
    const [journalFolder, logFolder] = [path.join(folder, 'journal'), path.join(folder, 'log')];
    const sizes = new Set<number>();
    for (const [count, step] of [...ANCHOR_STEPS.slice(0, 4), 'none'].entries()) {
      if (count > 0) journal.grow(0);
      writeFiles(journalFolder, journal.store.files);
      const ended = await child(journalFolder, logFolder, step);
      expect(ended).toBe(step === 'none' ? 0 : 'SIGKILL');
      const size = await new LogReader(fileStore(logFolder), LOG_KEY).head().catch(() => null);
      if (size !== null) sizes.add(size.size);
    }
    await expectOneLog(fileStore(logFolder), [...sizes]);
    await expectAllAnchored(journal.store, fileStore(logFolder));
  });
});

function child(...args: readonly string[]): Promise<number | string | null> {
  const program = path.join(__dirname, 'anchor-child.ts');
  const started = spawn(process.execPath, ['--import', 'tsx', program, ...args], { stdio: 'inherit' });
  return new Promise((resolve) => started.once('close', (code, signal) => resolve(signal ?? code)));
}
