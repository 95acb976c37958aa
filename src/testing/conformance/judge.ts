/**
 * What a sink said, held against what its system really holds.
 *
 * Invariant: nothing is judged by how plausible it is. A claim is broken only when the sink's own count of writes, or the fault
 * that the kit itself has made, contradicts it.
 */
import type { SinkAnswer, SinkItem } from '../../ports';
import { pause, type Sent, type Stand } from './stand';

const ASK_AGAIN_MS = 100;

export const enforces = ({ sink }: Stand): boolean => sink.enforcesKey !== 'no';

/** Waits until `found` is true, for so long at most. */
export async function until(found: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  for (;;) {
    if (await found()) return true;
    if (performance.now() >= end) return false;
    await pause(20);
  }
}

/** What a send told of a sound operation. */
export async function judgeSent(stand: Stand, item: SinkItem, sent: Sent): Promise<void> {
  const outcome = sent.told?.outcome;
  if (outcome === 'accepted' && !(await until(stand.written(item), stand.sink.settleMs)))
    throw stand.broken('not_written');
  const held = await stand.writes(item);
  if (outcome === 'refused') throw stand.broken('false_refused');
  if (outcome === 'not_sent' && held > 0) throw stand.broken('false_not_sent');
}

/** One call may make one write. */
export async function judgeOnce(stand: Stand, item: SinkItem, most = 1): Promise<void> {
  const held = await stand.writes(item);
  if (held > most) throw stand.broken('sent_again', `${held} writes`);
}

/** However often and by whom it was sent. */
export async function judgeEnforced(stand: Stand, item: SinkItem): Promise<void> {
  const held = await stand.writes(item);
  if (enforces(stand) && held > 1) throw stand.broken('written_twice', `${held} writes`);
}

/**
 * Looks the item up, for as long as its settle time allows the answer to change, and holds it against the sink. Call it when no
 * send is on its way any more.
 */
export async function judgeLookUp(stand: Stand, item: SinkItem): Promise<SinkAnswer> {
  const { sink } = stand;
  if (sink.lookup === 'none') return { state: 'unknown' };
  const end = performance.now() + sink.settleMs;
  for (;;) {
    const answer = await stand.ask(item);
    const held = await stand.writes(item);
    if (answer.state === 'committed') {
      if (held === 0) throw stand.broken('false_committed');
      if (answer.operationDigest !== item.operationDigest) throw stand.broken('false_committed', 'another digest');
      return answer;
    }
    if (held === 0) return answer;
    if (performance.now() >= end) {
      if (answer.state === 'absent' && sink.lookup === 'authoritative') throw stand.broken('false_absent');
      return answer;
    }
    await pause(ASK_AGAIN_MS);
  }
}

/** Sends a sound operation with nothing in the way. */
export async function commit(stand: Stand, item: SinkItem): Promise<Sent & { told: { outcome: 'accepted' } }> {
  const sent = await stand.dispatch(item);
  if (sent.told?.outcome !== 'accepted') throw stand.broken('never_accepted', saidOf(sent));
  if (!(await until(stand.written(item), stand.sink.settleMs))) throw stand.broken('not_written');
  return sent as Sent & { told: { outcome: 'accepted' } };
}

/** What a send came to in a word that cannot hold content: its outcome and code, or the code of what it threw. */
export function saidOf(sent: Sent): string {
  if (sent.told?.outcome === 'refused') return `refused: ${sent.told.code}`;
  if (sent.told !== null) return sent.told.outcome;
  const code = (sent.threw as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(code) ? `threw ${code}` : 'threw';
}
