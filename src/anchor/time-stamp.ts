/**
 * External time stamps of signed tree heads, as RFC 3161 authorities give them: that a digest existed at a time.
 *
 * Invariant: the authority sees a digest and nothing else; a stamp is kept beside the head that it is about, and says nothing until the
 * stamper that made it has verified it against that head.
 */
import type { Store } from '../ports';
import { sizePath } from '../rules/anchors/batch';
import { treeHeadToText, type TreeHead } from '../rules/anchors/tree-head';
import { sha256 } from '@noble/hashes/sha2';

export interface TimeStamper {
  /** Names the authority in the log: letters, digits, dots and dashes. */
  readonly name: string;
  /** A token of the authority about these 32 bytes. May throw: the head is then stamped with a later one. */
  stamp(digest: Uint8Array): Promise<Uint8Array>;
  /** Unix milliseconds that the token vouches for; null when it is not the authority's about this digest. */
  verify(digest: Uint8Array, token: Uint8Array): Promise<number | null>;
}

/** The digest that is stamped: SHA-256 of the tree head's text. */
export function stampedDigest(head: TreeHead): Uint8Array {
  return sha256(new TextEncoder().encode(treeHeadToText(head)));
}

function stampPath(size: number, { name }: TimeStamper): string {
  return `stamps/${sizePath(size)}/${name}`;
}

/** Never fails because of the authority: an anchor process goes on without it. */
export async function stampHead(log: Store, head: TreeHead, stamper: TimeStamper): Promise<boolean> {
  const path = stampPath(head.size, stamper);
  if ((await log.read(path)) !== null) return true;
  const token = await stamper.stamp(stampedDigest(head)).catch(() => null);
  if (token === null) return false;
  await log.create(path, token);
  return true;
}

/** When the head existed at the latest, in unix milliseconds; null without a stamp that holds. */
export async function stampedTime(log: Store, head: TreeHead, stamper: TimeStamper): Promise<number | null> {
  const token = await log.read(stampPath(head.size, stamper));
  return token === null ? null : stamper.verify(stampedDigest(head), token);
}
