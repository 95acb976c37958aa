/**
 * A Ref stands for content that is kept in the content store. Invariant: it is a digest over a secret salt, so it says nothing
 * of what it stands for and may stand in any history.
 */
import { isDigest } from '../recovery';

const REF = 'countersign_ref';
declare const content: unique symbol;

export interface Ref<T = unknown> {
  readonly countersign_ref: string;
  /** Only for the compiler: what the Ref stands for. */
  readonly [content]?: T;
}

/** `T`, or a Ref in its place or in the place of anything in it. */
export type OrRef<T> = T | Ref<T> | (T extends object ? { readonly [Field in keyof T]: OrRef<T[Field]> } : never);

export function refTo<T>(digest: string): Ref<T> {
  return { [REF]: digest };
}

/** The digest that a Ref names, or null for a value that is none. */
export function refDigest(value: object): string | null {
  const { [REF]: digest } = value as { [REF]?: unknown };
  return isDigest(digest) && Object.keys(value).length === 1 ? digest : null;
}

/** The value with every Ref in it replaced by what `read` answers. What a Ref stands for is not searched again. */
export async function resolveRefs(value: unknown, read: (digest: string) => Promise<unknown>): Promise<unknown> {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Promise.all(value.map((item) => resolveRefs(item, read)));
  const digest = refDigest(value);
  if (digest !== null) return read(digest);
  const fields = Object.entries(value).map(async ([name, item]) => [name, await resolveRefs(item, read)] as const);
  return Object.fromEntries(await Promise.all(fields));
}
