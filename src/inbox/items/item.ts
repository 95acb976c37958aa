/**
 * One thing that waits for a person, as the front page lists it. Invariant: it holds names, codes and counts, never contents, and leads
 * to where a person decides; nothing is decided or started from the list.
 */
export const ITEM_KINDS = ['call', 'review', 'approval', 'recheck'] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

/** `call`: one call of a session, of which nobody knows what became. */
export const KIND_TITLES: Record<ItemKind, string> = {
  call: 'Indeterminate call',
  review: 'Review',
  approval: 'Approval',
  recheck: 'Recheck',
};

export interface Item {
  /** Unlike that of any other item, of whatever kind. */
  readonly id: string;
  readonly kind: ItemKind;
  /** What it is about: a governed id. Null while it is not known. */
  readonly name: string | null;
  /** The page, of this inbox, where it is decided. */
  readonly href: string;
  /** The session that it is a call of; null of everything else. */
  readonly session: string | null;
  /** Why it waits: a code. */
  readonly reason: string;
  /** What people are asked for, in a line. */
  readonly asks: string | null;
  /** How far it has come, as in `1/3`. */
  readonly progress: string | null;
  /** Unix milliseconds since when it waits. */
  readonly since: number | null;
  /** How bad it is to leave it: higher comes first. */
  readonly risk: number;
}

export interface Listed {
  readonly items: readonly Item[];
  /** There are more than were asked for. */
  readonly more: boolean;
}

/** Where items of some kinds come from. */
export interface ItemSource {
  list(limit: number): Promise<Listed>;
}

/** Riskiest first; of two that are equally risky, the one that waits longer. */
export function byRisk(a: Item, b: Item): number {
  return b.risk - a.risk || (a.since ?? Infinity) - (b.since ?? Infinity) || (a.id < b.id ? -1 : 1);
}
