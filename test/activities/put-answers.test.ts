/**
 * Properties of content that is put and asked for, over stores in memory:
 * - the answer is what was put first under that name, a refusal too; a fault is no answer, and leaves nothing behind;
 * - one execution never answers what another has put, under whatever name;
 * - who asks before it was put is answered once it is, and with null when the time is over, or the worker has to stop;
 * - a call is driven only where its history knows the journal, and only where that was asked for; what was answered is forgotten, so that
 *   whoever did not hear it has to put it again.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Context } from '@temporalio/activity';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { Contents } from '../../src/activities/contents';
import type { BeginRequest, DriveRequest, DriveResult } from '../../src/activities/contract';
import type { Engine } from '../../src/activities/engine';
import { beginCall, keepAnswer, keptAnswer } from '../../src/activities/put-answers';
import { fileStore } from '../../src/adapters/stores';
import { Refusal } from '../../src/rules/refusal';
import { MemoryStore } from './simulation/store';

let contents: Contents;
beforeEach(() => {
  contents = new Contents(new MemoryStore());
});

const of = (runId: string): Context => ({ info: { workflowExecution: { workflowId: 'w', runId } } }) as Context;
const keep = (put: string, stage: () => Promise<object>, runId = 'a'): Promise<void> =>
  keepAnswer(of(runId), { contents }, { put }, stage);
const ask = (put: string, wait_ms = 0, runId = 'a', stops = false): Promise<unknown> =>
  keptAnswer(of(runId), { contents }, { put, wait_ms }, () => stops);

const plan = { plan: { run_id: 'run_1' }, journal_id: 'jrn_1' };
const BEGIN: BeginRequest = { put: '1', wait_ms: 0, run_id: 'run_1', journal_id: 'jrn_1', drives: true };

async function begun(change: Partial<BeginRequest> = {}): Promise<[unknown, readonly DriveRequest[]]> {
  const asked: DriveRequest[] = [];
  const drive = (request: DriveRequest): Promise<DriveResult> => {
    asked.push(request);
    return Promise.resolve({ status: 'done' } as DriveResult);
  };
  const engine = { contents } as Engine;
  return [await beginCall(of('a'), engine, { ...BEGIN, ...change }, () => false, drive), asked];
}

test('the first answer counts, also where it is a refusal', async () => {
  await keep('1', () => Promise.resolve({ is: 'first' }));
  await keep('1', () => Promise.resolve({ is: 'second' }));
  expect(await ask('1')).toEqual({ is: 'first' });
  await keep('2', () => Promise.reject(new Refusal('invalid_arguments', 'do not fit')));
  await keep('2', () => Promise.resolve({ is: 'second' }));
  expect(await ask('2')).toEqual({
    refused: { code: 'invalid_arguments', message: expect.stringContaining('do not fit') },
  });
});

test('a fault is no answer', async () => {
  await expect(keep('1', () => Promise.reject(new Error('the store is away')))).rejects.toThrow('the store is away');
  expect(await ask('1')).toBeNull();
});

test('what another execution has put is not answered', async () => {
  await keep('1', () => Promise.resolve(plan), 'b');
  expect(await ask('1')).toBeNull();
  expect((await begun())[0]).toEqual({ answer: null, driven: null });
});

test('who asks too early waits, until there is an answer, the time is over, or the worker stops', async () => {
  const early = ask('1', 60_000);
  await keep('1', () => Promise.resolve({ is: 'there' }));
  expect(await early).toEqual({ is: 'there' });
  expect(await ask('2', 50)).toBeNull();
  expect(await ask('2', 60_000, 'a', true)).toBeNull();
});

test.each([
  ['driven where the history knows its journal', {}, 1],
  ['not driven where it does not', { journal_id: null }, 0],
  ['not driven where nobody asks for it', { drives: false }, 0],
] as const)('%s', async (_name, change, drives) => {
  await keep('1', () => Promise.resolve(plan));
  const [result, asked] = await begun(change);
  expect(result).toEqual({ answer: plan, driven: drives === 1 ? { status: 'done' } : null });
  expect(asked).toHaveLength(drives);
  for (const request of asked) {
    expect(request).toMatchObject({
      run_id: 'run_1',
      journal_id: 'jrn_1',
      intent: 'drive',
      plan: plan.plan,
      epoch: null,
    });
  }
});

test('a refusal is answered and not driven', async () => {
  await keep('1', () => Promise.reject(new Refusal('plan_conflict', 'is another')));
  const [result, asked] = await begun();
  expect(result).toMatchObject({ answer: { refused: { code: 'plan_conflict' } }, driven: null });
  expect(asked).toEqual([]);
});

test('what was answered is forgotten', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'put-answers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  contents = new Contents(fileStore(folder));
  await keep('1', () => Promise.resolve(plan));
  expect((await begun())[0]).toMatchObject({ answer: plan });
  await expect.poll(() => ask('1')).toBeNull();
  await keep('1', () => Promise.resolve(plan));
  expect(await ask('1')).toEqual(plan);
});
