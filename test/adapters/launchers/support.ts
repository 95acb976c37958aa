/** A job and a door of a test's own: it keeps what comes through it. */
import { randomBytes } from 'node:crypto';
import type { LaunchContext, LaunchJob, SubmitAnswer, WorkerDoor } from '../../../src';
import { Refusal } from '../../../src/rules/refusal';

export const JOB: LaunchJob = {
  jobId: 'a'.repeat(32),
  role: 'coordinator',
  provider: 'openai',
  model: 'model-1',
  contextDigest: `sha256:${'0'.repeat(64)}`,
};

export class KeptDoor implements WorkerDoor {
  readonly outputs: unknown[] = [];
  fetched = 0;

  fetchContext(): Promise<unknown> {
    this.fetched += 1;
    return Promise.resolve({ prompt: 'check this' });
  }

  /** As the engine does: one output, the same again is a replay. */
  submit(output: unknown): Promise<SubmitAnswer> {
    const text = JSON.stringify(output);
    const [first] = this.outputs;
    if (first !== undefined && JSON.stringify(first) !== text) {
      return Promise.resolve({ taken: false, code: 'record_conflict' });
    }
    if (first === undefined) this.outputs.push(output);
    return Promise.resolve({ taken: true, submission: JOB.contextDigest, replayed: first !== undefined });
  }
}

export const shut: WorkerDoor = {
  fetchContext: () => Promise.reject(new Refusal('receipt_expired', 'has expired', 'exp')),
  submit: () => Promise.resolve({ taken: false, code: 'receipt_expired' }),
};

export interface Visit extends LaunchContext {
  readonly ended: Promise<void>;
  readonly controller: AbortController;
}

export function visit(door: WorkerDoor, deadlineMs = 10_000): Visit {
  const controller = new AbortController();
  let exited = (): void => undefined;
  const ended = new Promise<void>((resolve) => (exited = resolve));
  const credential = `wrk_${randomBytes(16).toString('hex')}`;
  return { signal: controller.signal, deadlineMs, credential, door, exited: () => exited(), ended, controller };
}
