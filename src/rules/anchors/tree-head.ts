/**
 * What a log signs: C2SP tlog-checkpoint. It is called tree head here, as a checkpoint is a run's. Invariant: one tree head has one
 * text; a text in any other form is refused, so that two texts can never be about one tree.
 */
import { fromBase64, toBase64 } from './base64';
import { HASH_BYTES } from './merkle';

export interface TreeHead {
  /** The log's name; it is the name of its key, too. */
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

export function treeHeadToText({ origin, size, root }: TreeHead): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`;
}

/** Takes the text of a note. Lines after the third are another log's extensions, which mean nothing here. */
export function treeHeadFromText(text: string): TreeHead | null {
  const [origin = '', size = '', encoded = '', ...more] = text.split('\n');
  if (more.length === 0 || more.pop() !== '' || more.includes('') || origin === '') return null;
  const root = fromBase64(encoded);
  const count = Number(size);
  if (!/^(0|[1-9][0-9]*)$/.test(size) || !Number.isSafeInteger(count)) return null;
  return root?.length === HASH_BYTES ? { origin, size: count, root } : null;
}
