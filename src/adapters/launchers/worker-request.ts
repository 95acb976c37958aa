/**
 * What a worker may ask, as JSON: its context, or to take its result. Invariant: who asks is told by the credential alone, and an
 * answer holds a code, never why in words, nor anything of another job.
 */
import { timingSafeEqual } from 'node:crypto';
import type { LaunchContext, WorkerDoor } from '../../ports';
import { Refusal } from '../../rules/refusal';
import { jsonObjectIn } from '../json-object';

export type WorkerAnswer =
  { readonly context: unknown } | { readonly taken: true; readonly replayed: boolean } | { readonly refused: string };

export async function answerWorker(
  line: string,
  { credential, door }: Pick<LaunchContext, 'credential' | 'door'>,
): Promise<WorkerAnswer> {
  const asked = jsonObjectIn(line);
  if (asked === null) return { refused: 'invalid_request' };
  if (typeof asked['credential'] !== 'string' || !same(asked['credential'], credential)) {
    return { refused: 'worker_unknown' };
  }
  if (asked['op'] === 'context') return { context: await door.fetchContext() };
  return asked['op'] === 'submit' ? submitted(door, asked['output']) : { refused: 'invalid_request' };
}

export async function submitted(door: WorkerDoor, output: unknown): Promise<WorkerAnswer> {
  if (output === undefined) return { refused: 'invalid_request' };
  const answer = await door.submit(output);
  return answer.taken ? { taken: true, replayed: answer.replayed } : { refused: answer.code };
}

/** The code of a refusal; of anything else only that it went wrong here, so that the worker may ask again. */
export function codeOf(fault: unknown): string {
  return fault instanceof Refusal ? fault.code : 'unavailable';
}

function same(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
