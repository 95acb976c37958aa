/**
 * Properties of `replayAndVerify`, on executions of a real server:
 * - a history that was fetched, one that was written to a file, and one that the Temporal CLI wrote are equally good;
 * - whatever is wrong is found, in the history that it is wrong with, by its kind, and is reported instead of thrown; the form
 *   that asserts throws it;
 * - the JSON of a history holds the whole of it: back from JSON it has the same bytes.
 */
import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { temporal } from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import { initJournal, type Store } from '../../src';
import { DRIVE_ACTIVITY } from '../../src/activities/contract';
import type { PlanHandle } from '../../src/client';
import { assertReplayAndVerify, recordHistory, replayAndVerify, type ReplayReport } from '../../src/testing';
import { historyFromJson, historyToJson, type HistoryJson } from '../../src/testing/history-json';
import { useRig } from '../support/rig';
import { temporalAddress, temporalCli } from '../support/temporal';

const rig = useRig();

async function completed(): Promise<PlanHandle> {
  const handle = await rig.start(['enforcing', 'lookup', 'blind']);
  await handle.result();
  return handle;
}

describe('what is good', () => {
  test('fetched, recorded and exported by the CLI', async () => {
    await rig.worker();
    const handle = await completed();
    const { digests } = await handle.lineage();
    const folder = path.join(rig.folder, 'histories');
    await recordHistory(rig.client, handle.workflowId, path.join(folder, 'recorded.json'));
    await writeFile(path.join(folder, 'exported.json'), await exported(handle));
    const base = { workflowBundle: rig.bundle, journal: rig.journal };
    expect(await assertReplayAndVerify({ ...base, histories: folder })).toEqual({
      ...{ replayed: 2, checked: 2 * digests.length, failures: [] },
    });
    const fetched = [{ workflowId: handle.workflowId, history: await handle.workflow.fetchHistory() }];
    expect(await assertReplayAndVerify({ ...base, histories: fetched })).toMatchObject({ replayed: 1, failures: [] });
    expect(await replayAndVerify({ workflowBundle: rig.bundle, histories: fetched })).toMatchObject({ checked: 0 });
  });

  test('to JSON and back', async () => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'status', status: 400 }]);
    const handle = await rig.start(['lookup']);
    await handle.result().catch(() => undefined);
    const history = await handle.workflow.fetchHistory();
    const json = historyToJson(history);
    expect(JSON.parse(await exported(handle))).toEqual(json);
    const { History } = temporal.api.history.v1;
    const [before, after] = [history, historyFromJson(json)].map((one) => History.encode(one as never).finish());
    expect(Buffer.from(after!)).toEqual(Buffer.from(before!));
  });
});

const exported = async (handle: PlanHandle): Promise<string> =>
  (
    await promisify(execFile)(
      temporalCli(),
      ['workflow', 'show', '-w', handle.workflowId, '-o', 'json', '--address', temporalAddress()],
      { maxBuffer: 2 ** 26 },
    )
  ).stdout;

interface Damage {
  history?(json: HistoryJson): unknown;
  journal?(folder: string, runId: string): Promise<Store | void>;
  readonly finds: ReplayReport['failures'][number]['kind'];
  readonly says: RegExp;
}

const ofType = (json: HistoryJson, type: string): Record<string, Record<string, unknown>> =>
  json.events.find(({ eventType }) => eventType === `EVENT_TYPE_${type}`) as never;

/** Rewrites the result of the drive. */
function claiming(json: HistoryJson, change: (result: string) => string): HistoryJson {
  const event = ofType(json, 'ACTIVITY_TASK_COMPLETED');
  const [payload] = (event['activityTaskCompletedEventAttributes']?.['result'] as { payloads: { data: string }[] })
    .payloads;
  payload!.data = Buffer.from(change(Buffer.from(payload!.data, 'base64').toString())).toString('base64');
  return json;
}

const DAMAGES: Record<string, Damage> = {
  'no history': { history: () => ({ nothing: 1 }), finds: 'replay', says: /has no events/ },
  'a history of no workflow': {
    history: (json) => {
      delete ofType(json, 'WORKFLOW_EXECUTION_STARTED')['workflowExecutionStartedEventAttributes']?.['workflowId'];
      return json;
    },
    finds: 'replay',
    says: /names no workflow id/,
  },
  'other commands than the code gives': {
    history: (json) => {
      const event = ofType(json, 'ACTIVITY_TASK_SCHEDULED');
      event['activityTaskScheduledEventAttributes']!['activityType'] = { name: `${DRIVE_ACTIVITY}.other` };
      return json;
    },
    finds: 'replay',
    says: /[Nn]ondeterminism/,
  },
  'a result whose head does not follow from its witnesses': {
    history: (json) => claiming(json, (result) => result.replace(/("head":\{[^}]*sha256:)(.{4})/, '$10000')),
    finds: 'chain',
    says: /^event \d+: chain_divergence/,
  },
  'a result whose witness saw something else': {
    history: (json) => claiming(json, (result) => result.replace(/("evidence":"sha256:)(.{4})/, '$10000')),
    finds: 'chain',
    says: /^event \d+: chain_divergence/,
  },
  'a journal without its last checkpoint': {
    journal: async (folder, runId) => {
      const lineage = path.join(folder, runId, 'lineage-0001');
      await rm(path.join(lineage, (await readdir(lineage)).sort().at(-1) ?? ''));
    },
    finds: 'journal',
    says: /^checkpoint 2 of run_\w+ is missing, but the history proves sha256:/,
  },
  'a journal without the run': {
    journal: (folder, runId) => rm(path.join(folder, runId), { recursive: true }),
    finds: 'journal',
    says: /^(run run_\w+ cannot be read|checkpoint \d of run_\w+ is missing)/,
  },
  'another journal': {
    journal: async () => {
      const store = rig.store('another');
      await initJournal(store);
      return store;
    },
    finds: 'journal',
    says: /belongs to journal jrn_\w+, not jrn_/,
  },
  'a folder that is no journal': {
    journal: async () => rig.store('empty'),
    finds: 'journal',
    says: /journal_missing/,
  },
};

describe('what is found', () => {
  test.each(Object.entries(DAMAGES))('%s', async (_name, { history: change, journal: damage, finds, says }) => {
    await rig.worker();
    const [good, bad] = [await completed(), await completed()];
    const journal = (await damage?.(path.join(rig.folder, 'journal'), bad.runId)) ?? rig.journal;
    const folder = path.join(rig.folder, 'histories');
    await mkdir(folder);
    const json = await rig.historyOf(bad);
    await writeFile(path.join(folder, 'bad.json'), JSON.stringify(change?.(json) ?? json));
    await recordHistory(rig.client, good.workflowId, path.join(folder, 'good.json'));
    const report = await replayAndVerify({ workflowBundle: rig.bundle, histories: folder, journal });
    expect(report.failures.filter(({ kind }) => kind === finds).map(({ message }) => message)).toContainEqual(
      expect.stringMatching(says),
    );
    if (journal === rig.journal)
      expect(report.failures.map(({ workflowId }) => workflowId)).not.toContain(good.workflowId);
    const assertion = assertReplayAndVerify({ workflowBundle: rig.bundle, histories: folder, journal });
    await expect(assertion).rejects.toThrow(/findings in \d histories:\n {2}.* \((replay|chain|journal)\): /);
    rig.expectedFailures = ({ kind }) => damage !== undefined && kind === 'journal';
  });

  test('nothing to replay, where something was to be asserted', async () => {
    const options = { workflowBundle: rig.bundle, histories: [] };
    expect(await replayAndVerify(options)).toEqual({ replayed: 0, checked: 0, failures: [] });
    await expect(assertReplayAndVerify(options)).rejects.toThrow('There is no history to replay');
  });

  test('a file that is no JSON', async () => {
    await mkdir(path.join(rig.folder, 'broken'));
    await writeFile(path.join(rig.folder, 'broken', 'cut.json'), '{"events": [');
    const report = await replayAndVerify({ workflowBundle: rig.bundle, histories: path.join(rig.folder, 'broken') });
    expect(report.failures).toEqual([
      { workflowId: 'cut.json', kind: 'replay', message: expect.stringMatching('no history') },
    ]);
  });
});
