/**
 * All that waits, from every source. Invariant: one list, riskiest first; a kind of item is known by its source alone, so another kind
 * is another module here and nothing elsewhere.
 */
import type { Service } from '../../cli/service';
import type { Store } from '../../ports';
import { byRisk, type ItemSource, type Listed } from './item';
import { planItems } from './plans';
import { verificationItems } from './verification';

export { ITEM_KINDS, KIND_TITLES, type Item, type ItemKind, type ItemSource, type Listed } from './item';

/** Every source that this version knows. */
export function itemSources(service: Service, journal: Store | null): readonly ItemSource[] {
  return [planItems(service), ...(journal === null ? [] : [verificationItems(service, journal)])];
}

export async function allItems(sources: readonly ItemSource[], limit: number): Promise<Listed> {
  const lists = await Promise.all(sources.map((source) => source.list(limit)));
  const items = lists.flatMap((list) => list.items).sort(byRisk);
  return { items: items.slice(0, limit), more: items.length > limit || lists.some(({ more }) => more) };
}
