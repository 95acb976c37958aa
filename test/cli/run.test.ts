/**
 * The built program against a real server, with a worker in front of a counting server.
 *
 * Held here:
 * - `run` of a draft ends with every effect written once, exit 0 and one JSON line; asked again, by draft or by the made
 *   plan, it answers the recorded outcome and writes nothing;
 * - other effects under the same name are a conflict (6); a refused effect is denied (3); a plan that needs a person exits 4
 *   with what to do, is shown so by `inspect`, and ends as cancelled (5) when it is cancelled; a tool without a sink is 7;
 * - an execution that failed is shown as failed, whatever it last said of itself;
 * - `preview` changes nothing; `inspect` and `verify` agree with the outcome;
 * - Ctrl-C leaves the plan running, which then ends by itself;
 * - no channel is shut under a call that may be repeated;
 * - no content of an operation is ever printed.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { WorkflowNotFoundError } from '@temporalio/client';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../src/cli/service';
import { toolId, useRig } from '../support/rig';
import { temporalAddress } from '../support/temporal';
import { answerOf, builtProgram, cli, startProgram, type JsonAnswer, type Ran, type RunningProgram } from './support';

const SECRET = 'synthetic-content-8d1f';

describe('the program on a real server', () => {
  const rig = useRig();
  let program = '';
  beforeAll(() => (program = builtProgram()), 300_000);
  beforeEach(async () => {
    const folders = ['journal', 'contents'].map((name) => path.join(rig.folder, name)) as [string, string];
    await cli('journal', 'init', folders[0], '--contents', folders[1]);
  });

  const start = (...args: readonly string[]): RunningProgram =>
    startProgram(program, args, {
      TEMPORAL_ADDRESS: temporalAddress(),
      COUNTERSIGN_JOURNAL: path.join(rig.folder, 'journal'),
      COUNTERSIGN_CONTENTS: path.join(rig.folder, 'contents'),
      COUNTERSIGN_TASK_QUEUE: rig.taskQueue,
    });
  const run = async (...args: readonly string[]): Promise<Ran & { answer: JsonAnswer }> => {
    const ran = await start(...args, '--json').ended;
    expect(ran.out + ran.err).not.toContain(SECRET);
    return { ...ran, answer: answerOf(ran) };
  };
  const draft = (name: string, effects: readonly Record<string, unknown>[], amount = 1): string => {
    const folder = path.join(rig.folder, 'drafts');
    mkdirSync(folder, { recursive: true });
    const file = path.join(folder, `${name}-${amount}.json`);
    const full = effects.map((effect, index) => ({
      id: `effect-${index}`,
      kind: 'local_tool',
      operation: { note: SECRET, amount },
      ...effect,
    }));
    writeFileSync(file, JSON.stringify({ workflow_id: 'workflow:example.org/cli', name, effects: full }));
    return file;
  };
  const both = [{ tool_id: toolId('enforcing') }, { tool_id: toolId('lookup') }];

  it('runs a draft once, whoever asks how often', async () => {
    await rig.worker();
    const file = draft('once', both);
    const made = path.join(rig.folder, 'made.json');
    const first = await run('run', file);
    expect(first).toMatchObject({
      code: 0,
      answer: { ok: true, command: 'run', data: { status: 'completed', replayed: false } },
    });
    expect(first.answer.data?.['effects']).toMatchObject([{ state: 'committed' }, { state: 'committed' }]);
    expect((await run('plan', file, '--out', made)).code).toBe(0);
    for (const again of [file, made]) {
      expect(await run('run', again)).toMatchObject({
        code: 0,
        answer: { data: { status: 'completed', replayed: true } },
      });
    }
    expect(rig.sinks.counts().writes).toBe(2);

    const changed = await run('run', draft('once', both, 2));
    expect(changed).toMatchObject({ code: 6, answer: { ok: false, error: { code: 'plan_conflict' } } });
    expect(rig.sinks.counts().writes).toBe(2);
    expect(await run('inspect', file)).toMatchObject({
      code: 0,
      answer: { data: { journal: { phase: 'completed' }, execution: 'failed', live: null } },
    });

    const head = (first.answer.data?.['head'] as { digest: string }).digest;
    const runId = first.answer.data?.['run_id'] as string;
    const folder = path.join(rig.folder, 'journal');
    const verified = await run('verify', folder, '--strict', '--expect-head', head);
    expect(verified).toMatchObject({
      code: 0,
      answer: { data: { kind: 'journal', ok: true, anchored: true, justified: true } },
    });
    const seen = await run('inspect', runId);
    expect(seen).toMatchObject({
      code: 0,
      answer: { data: { journal: { phase: 'completed', head: { digest: head } } } },
    });
    expect(await run('journal', 'ls')).toMatchObject({
      code: 0,
      answer: { data: { runs: [{ run_id: runId, committed: 2 }] } },
    });
  });

  it('prints progress and outcome for people', async () => {
    await rig.worker();
    const ran = await start('run', draft('people', both)).ended;
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(ran.out).toMatch(/^run run_[0-9a-f]{32}: 2 effects\n/);
    expect(ran.out).toMatch(/completed: 2 of 2 effects committed\nhead [0-9]+ sha256:[0-9a-f]{64}\n$/);
  });

  it('previews without a trace', async () => {
    await rig.worker();
    const made = path.join(rig.folder, 'made.json');
    await run('plan', draft('preview', both), '--out', made);
    const seen = await run('preview', made);
    expect(seen).toMatchObject({
      code: 0,
      answer: { data: { status: 'previewed', preview: [{ state: 'absent' }, { state: 'absent' }] } },
    });
    expect(rig.sinks.counts().writes).toBe(0);
    expect(await run('journal', 'ls')).toMatchObject({ answer: { data: { runs: [] } } });
  });

  it('stops at a person, says what to do, and is cancelled', async () => {
    await rig.worker();
    const file = draft('person', [{ tool_id: toolId('lookup'), approval_required: true }]);
    const parked = await run('run', file);
    expect(parked).toMatchObject({
      code: 4,
      answer: { ok: false, data: { state: 'parked' }, error: { code: 'approval_missing' } },
    });
    expect(await run('inspect', file)).toMatchObject({ code: 4, answer: { error: { code: 'approval_missing' } } });
    const waiting = start('run', file, '--wait', '--json');
    await rig.plans.getHandle(parked.answer.data?.['run_id'] as string).cancel();
    const ended = await waiting.ended;
    expect(ended.code).toBe(5);
    expect(answerOf(ended)).toMatchObject({
      ok: false,
      data: { status: 'cancelled' },
      error: { code: 'plan_cancelled' },
    });
    expect(rig.sinks.counts().writes).toBe(0);
  });

  it('tells a refused effect and a missing sink apart', async () => {
    await rig.worker();
    const refused = await run('run', draft('missing', [{ tool_id: 'tool:example.org/nowhere@1.0.0' }]));
    expect(refused).toMatchObject({ code: 7, answer: { ok: false, error: { code: 'no_adapter' } } });
    rig.sinks.faults.programme([{ fault: 'status', status: 400 }]);
    const denied = await run('run', draft('refused', [{ tool_id: toolId('lookup') }]));
    expect(denied).toMatchObject({ code: 3, answer: { ok: false, error: { code: 'effect_rejected' } } });
  });

  it('does not shut the channel under a call that is on its way', async () => {
    process.env['TEMPORAL_ADDRESS'] = temporalAddress();
    const service = await connect({ taskQueue: rig.taskQueue });
    delete process.env['TEMPORAL_ADDRESS'];
    const ask = (): Promise<unknown> => service.plans.getHandle(`run_${'0'.repeat(32)}`).workflow.describe();
    let answer = (): void => undefined;
    const asking = service.soon(() => new Promise<void>((resolve) => (answer = resolve)));
    await service.close();
    await expect(ask()).rejects.toThrow(WorkflowNotFoundError);
    answer();
    await asking;
    await service.close();
    await expect(ask()).rejects.not.toThrow(WorkflowNotFoundError);
  });

  it('leaves the plan running at Ctrl-C', async () => {
    const watching = start('run', draft('left', both));
    await watching.shown('no worker answers yet');
    watching.child.kill('SIGINT');
    const left = await watching.ended;
    expect(left.code).toBe(130);
    expect(left.err).toMatch(/follow it with: countersign inspect run_[0-9a-f]{32}/);
    const runId = /inspect (run_[0-9a-f]{32})/.exec(left.err)?.[1] as string;
    await rig.worker();
    expect(await rig.plans.getHandle(runId).result()).toMatchObject({ status: 'completed' });
    expect(rig.sinks.counts().writes).toBe(2);
  });
});
