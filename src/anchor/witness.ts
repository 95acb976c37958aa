/**
 * A witness of anchor logs. Invariant: for each log it co-signs a sequence of trees of which each continues the one before; what
 * it has seen is durable before its signature leaves, and two processes with one memory cannot go two ways, as each step has a
 * number that is taken once.
 */
import { createHash } from 'node:crypto';
import type { Store } from '../ports';
import { sizePath } from '../rules/anchors/batch';
import { signNote, signatureToLine } from '../rules/anchors/note';
import { verifierToText, type SignerKey, type VerifierKey } from '../rules/anchors/note-keys';
import { sameHash } from '../rules/anchors/merkle';
import { treeHeadFromText, treeHeadToText, type TreeHead } from '../rules/anchors/tree-head';
import { AnchorError } from './anchor-error';
import { LogReader } from './log-reader';

export interface WitnessOptions {
  readonly log: Store;
  readonly logKey: VerifierKey;
  readonly key: SignerKey;
  /** What this witness remembers; its own, where no writer of the log can reach it. */
  readonly memory: Store;
  /** Seconds since 1970. */
  readonly now: () => number;
}

export interface Witnessed {
  readonly head: TreeHead;
  /** Null when this head was the first that this witness saw of the log. */
  readonly before: number | null;
  readonly line: string;
}

export async function witnessLog({ log, logKey, key, memory, now }: WitnessOptions): Promise<Witnessed> {
  const reader = new LogReader(log, logKey);
  const head = await reader.head();
  const seen = new Memory(memory, logKey);
  const last = await seen.last();
  if (last !== null) await requireContinued(reader, last.head, head);
  if (last === null || last.head.size < head.size) await seen.remember((last?.step ?? 0) + 1, head);
  const signature = signNote(head.note.text, key, now());
  const line = signatureToLine(signature);
  const name = createHash('sha256').update(verifierToText(key)).digest('hex').slice(0, 32);
  // One that stands there already is by this very key, and as good.
  await log.create(`cosignatures/${sizePath(head.size)}/${name}`, new TextEncoder().encode(line));
  const { origin, size, root } = head;
  return { head: { origin, size, root }, before: last?.head.size ?? null, line };
}

async function requireContinued(reader: LogReader, last: TreeHead, head: TreeHead): Promise<void> {
  if (head.size < last.size) {
    const reason = `the log offers a tree of ${head.size} entries, and this witness has seen one of ${last.size}`;
    throw new AnchorError('anchor_checkpoint_old', reason);
  }
  const same = head.size === last.size && sameHash(head.root, last.root);
  if (same || (head.size > last.size && (await reader.continues(last, head)))) return;
  const reason = `the log's tree of ${head.size} entries does not continue the one of ${last.size} that this witness has seen`;
  throw new AnchorError('anchor_split_view', reason);
}

/** The steps of one log: `<log>/000001` holds the first head that was seen. */
class Memory {
  private readonly folder: string;

  constructor(
    private readonly store: Store,
    logKey: VerifierKey,
  ) {
    // By name alone: two logs under one name are what a witness is there to notice.
    this.folder = createHash('sha256').update(logKey.name).digest('hex').slice(0, 32);
  }

  async last(): Promise<{ readonly step: number; readonly head: TreeHead } | null> {
    const name = (await this.store.list(this.folder)).at(-1);
    if (name === undefined) return null;
    const bytes = await this.store.read(`${this.folder}/${name}`);
    const head = bytes === null ? null : treeHeadFromText(new TextDecoder().decode(bytes));
    if (head !== null) return { step: Number(name), head };
    throw new AnchorError('anchor_damaged', 'what this witness remembers cannot be read; it signs nothing without it');
  }

  async remember(step: number, head: TreeHead): Promise<void> {
    const path = `${this.folder}/${String(step).padStart(12, '0')}`;
    const outcome = await this.store.create(path, new TextEncoder().encode(treeHeadToText(head)));
    if (outcome !== 'conflict') return;
    const reason = 'another process of this witness has just seen another tree; ask again';
    throw new AnchorError('anchor_not_alone', reason);
  }
}
