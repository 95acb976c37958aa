/**
 * Journals against histories of real executions, without Temporal.
 *
 * Held here:
 * - a history as the Temporal CLI exports it, as the SDK fetches it, and as a bare list of events: each agrees with its journal,
 *   with the run alone, with the lineage alone and with the exported run, and anchors its head;
 * - a history that ends earlier agrees, and anchors nothing; a cut-off or replaced tail, which nothing in the journal shows, is
 *   found, and so is every history that is not of this journal, not of this run, no history, or proves nothing;
 * - a history that was changed is found by what it no longer proves.
 */
import { execFile } from 'node:child_process';
import { cp, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { initJournal } from '../../src';
import type { PlanHandle } from '../../src/client';
import { exportRun } from '../../src/transfer';
import { verify, type FindingCode } from '../../src/verify';
import type { HistoryJson } from '../../src/verify/history-chain';
import { answerOf, cli } from '../cli/support';
import { useRig } from '../support/rig';
import { temporalAddress, temporalCli } from '../support/temporal';

const rig = useRig();
const journal = (): string => path.join(rig.folder, 'journal');
const run = promisify(execFile);

async function completed(): Promise<PlanHandle> {
  const handle = await rig.start(['enforcing', 'lookup', 'blind']);
  await handle.result();
  return handle;
}

const FORMS: Readonly<Record<string, (handle: PlanHandle) => Promise<string>>> = {
  'exported by the Temporal CLI': async ({ workflowId }) => {
    const args = ['workflow', 'show', '-w', workflowId, '--output', 'json', '--address', temporalAddress()];
    return (await run(temporalCli(), args, { maxBuffer: 2 ** 26 })).stdout;
  },
  'fetched by the SDK': async ({ workflow }) => JSON.stringify(await workflow.fetchHistory()),
  'a bare list of events': async (handle) => JSON.stringify((await rig.historyOf(handle)).events),
};

describe('what agrees', () => {
  test.each(Object.entries(FORMS))('%s', async (_name, form) => {
    await rig.worker();
    const handle = await completed();
    const { digests } = await handle.lineage();
    const file = path.join(rig.folder, 'history.json');
    await writeFile(file, await form(handle));
    const exported = path.join(rig.folder, 'run.export');
    await exportRun(rig.journal, null, handle.runId, exported);
    const places = [journal(), `${journal()}/${handle.runId}`, `${journal()}/${handle.runId}/lineage-0001`, exported];
    for (const place of places) {
      const answer = answerOf(await cli('verify', place, '--strict', '--json', '--history', file));
      expect(answer, place).toMatchObject({ ok: true, data: { anchored: true, findings: [] } });
      expect(answer.data?.['histories']).toMatchObject([
        { run_id: handle.runId, checkpoints: digests.length, agrees: true },
      ]);
    }
    const told = await cli('verify', journal(), '--history', file);
    expect(told.out).toContain(`history ${file}: ${digests.length} checkpoints of ${handle.runId} agree`);
  });

  test('a history that ends earlier', async () => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
    const handle = await rig.start(['lookup']);
    await rig.until(handle, ({ state }) => state === 'parked');
    const history = await rig.historyOf(handle);
    expect(await verify(journal(), { histories: [{ name: 'h', history }] })).toMatchObject({
      ok: true,
      anchored: true,
    });
    rig.sinks.faults.clear();
    await handle.reobserve();
    await handle.result();
    expect(await verify(journal(), { histories: [{ name: 'h', history }] })).toMatchObject({
      ok: true,
      anchored: false,
    });
  });
});

type Event = Record<string, Record<string, unknown>>;
const ofType = (json: HistoryJson, type: string): Event =>
  json.events.find(({ eventType }) => eventType === `EVENT_TYPE_${type}`) as never;

/** Rewrites the result of the drive. */
function claiming(json: HistoryJson, change: (result: string) => string): HistoryJson {
  const { result } = ofType(json, 'ACTIVITY_TASK_COMPLETED')['activityTaskCompletedEventAttributes'] as never as {
    result: { payloads: { data: string }[] };
  };
  const [payload] = result.payloads;
  payload!.data = Buffer.from(change(Buffer.from(payload!.data, 'base64').toString())).toString('base64');
  return json;
}

interface Damage {
  readonly finds: FindingCode;
  readonly history?: (json: HistoryJson) => unknown;
  readonly journal?: (folder: string, runId: string) => Promise<void>;
}

const DAMAGES: Readonly<Record<string, Damage>> = {
  'a journal without its last checkpoint': {
    finds: 'history_ahead',
    journal: async (folder, runId) => {
      const lineage = path.join(folder, runId, 'lineage-0001');
      await rm(path.join(lineage, (await readdir(lineage)).sort().at(-1) ?? ''));
    },
  },
  'a journal without the run': {
    finds: 'history_foreign',
    journal: (folder, runId) => rm(path.join(folder, runId), { recursive: true }),
  },
  'another journal that holds the run': {
    finds: 'history_foreign',
    journal: async (folder, runId) => {
      const other = path.join(rig.folder, 'other');
      await initJournal(rig.store('other'));
      await cp(path.join(folder, runId), path.join(other, runId), { recursive: true });
      await rm(folder, { recursive: true });
      await cp(other, folder, { recursive: true });
    },
  },
  'no history': { finds: 'history_unreadable', history: () => ({ nothing: 1 }) },
  'an empty history': { finds: 'history_unreadable', history: () => ({ events: [] }) },
  'a history without a drive': {
    finds: 'history_proves_nothing',
    history: ({ events }) => ({ events: events.slice(0, 2) }),
  },
  'a head that does not follow from its witnesses': {
    finds: 'history_unproven',
    history: (json) => claiming(json, (text) => text.replace(/("head":\{[^}]*sha256:)(.{4})/, '$10000')),
  },
  'a witness that saw something else': {
    finds: 'history_unproven',
    history: (json) => claiming(json, (text) => text.replace(/("evidence":"sha256:)(.{4})/, '$10000')),
  },
  'a payload that a codec made': {
    finds: 'history_unproven',
    history: (json) => {
      const { result } = ofType(json, 'ACTIVITY_TASK_COMPLETED')['activityTaskCompletedEventAttributes'] as never as {
        result: { payloads: { metadata: Record<string, string> }[] };
      };
      result.payloads[0]!.metadata = { encoding: Buffer.from('binary/encrypted').toString('base64') };
      return json;
    },
  },
};

test.each(Object.entries(DAMAGES))('%s is found', async (_name, { finds, history: change, journal: damage }) => {
  await rig.worker();
  const handle = await completed();
  const json = await rig.historyOf(handle);
  const history = change?.(json) ?? json;
  if (damage !== undefined) {
    rig.expectedFailures = ({ kind }) => kind === 'journal';
    await damage(journal(), handle.runId);
  }
  const alone = await verify(journal());
  expect(alone.ok).toBe(true);
  const report = await verify(journal(), { histories: [{ name: 'given', history }] });
  expect(report.findings.map(({ code }) => code)).toContain(finds);
  expect(report).toMatchObject({ ok: false, anchored: false });
});

test('what is no file, or no JSON, is refused as input', async () => {
  const bad = path.join(rig.folder, 'bad.json');
  await writeFile(bad, '{"events": [');
  for (const file of [bad, path.join(rig.folder, 'missing.json'), rig.folder]) {
    const ran = await cli('verify', journal(), '--history', file);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toMatch(/input_unreadable/);
  }
});
