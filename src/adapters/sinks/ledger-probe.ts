/**
 * The start-up self-test of sinks on the ledger: the server is a primary, its locks and the ledger's key hold, and this role may
 * use both. Invariant: it leaves one row, always under the same key, and names the step that went wrong.
 */
import { randomUUID } from 'node:crypto';
import { type DispatchOutcome, type SinkAnswer } from '../../ports';
import { SinkError } from './sink-error';

const KEY = 'self-test';
const FIRST = '0'.repeat(64);
const ANOTHER = '1'.repeat(64);

/** What the test is made with. */
export interface ProbedLedger {
  readonly sink: string;
  /** Writes nothing but the ledger's rows. */
  write(key: string, digest: string): Promise<DispatchOutcome>;
  lookUp(key: string): Promise<SinkAnswer>;
  /** Runs `look` while another session has an open transaction under the key. */
  whileHeld<T>(key: string, look: () => Promise<T>): Promise<T>;
}

export async function probeLedger(ledger: ProbedLedger): Promise<void> {
  const unused = `${KEY} ${randomUUID()}`;
  const write = (digest: string) => (): Promise<string> => ledger.write(KEY, digest).then(({ outcome }) => outcome);
  const find = (key: string) => (): Promise<string> =>
    ledger.lookUp(key).then((answer) => {
      const another = answer.state === 'committed' && answer.operationDigest !== FIRST;
      return another ? 'another digest' : answer.state;
    });
  const steps: readonly (readonly [step: string, expected: string, done: () => Promise<string>])[] = [
    ['look up a key that nobody used', 'absent', find(unused)],
    ['write a row', 'accepted', write(FIRST)],
    ['find it', 'committed', find(KEY)],
    ['write it again', 'accepted', write(FIRST)],
    ['write another under its key', 'key_reused', write(ANOTHER)],
    ['write another under its key again', 'key_reused', write(ANOTHER)],
    ['find the first', 'committed', find(KEY)],
    ['look up the key of an open transaction', 'in_flight', () => ledger.whileHeld(unused, find(unused))],
  ];
  for (const [step, expected, done] of steps) {
    const found = await done().catch((fault: unknown) => (fault instanceof SinkError ? fault.code : 'another fault'));
    if (found === expected) continue;
    const detail = `step=${step}, expected=${expected}, found=${found}`;
    throw new SinkError('probe_failed', { sink: ledger.sink, key: KEY }, { detail });
  }
}
