/**
 * What workflows without Countersign call: one send, one look-up, one record, a loop over look-ups and sends, and the durable
 * creates of a governed plan without anything around them, which no engine on this store can do without.
 */
import type { Store } from '../src';
import type { BenchSink } from './sink';

export interface BenchActivities {
  send(key: string): Promise<void>;
  lookUp(key: string): Promise<boolean>;
  record(key: string): Promise<void>;
  loop(prefix: string, count: number): Promise<void>;
  creates(prefix: string, count: number): Promise<void>;
}

export function benchActivities(sink: BenchSink, store: Store): BenchActivities {
  const bytes = new TextEncoder().encode('recorded');
  const send = (key: string): Promise<void> => sink.write(key, key);
  const lookUp = async (key: string): Promise<boolean> => (await sink.find(key)) !== null;
  return {
    send,
    lookUp,
    record: async (key) => void (await store.create(`records/${key}`, bytes)),
    // The same look-ups and sends that a governed plan makes: all at once before and after, and around each send.
    loop: async (prefix, count) => {
      await lookUp(prefix);
      for (let index = 0; index < count; index += 1) {
        const key = `${prefix}-${index}`;
        if (await lookUp(key)) continue;
        await send(key);
        await lookUp(key);
      }
      await lookUp(prefix);
    },
    // What a governed plan makes durable, joined and laid out as it is there, and nothing else: what the disk alone costs.
    creates: async (prefix, count) => {
      const create = async (...names: readonly string[]): Promise<void> => {
        const entries = names.map((name) => [`${prefix}/${name}`, bytes] as const);
        if (store.createInOrder !== undefined) await store.createInOrder(entries);
        else for (const [name] of entries) await store.create(name, bytes);
      };
      const opening = ['plan', 'epochs/1', 'lineage/0', 'witnesses/1/a', 'lineage/1'];
      for (let index = 0; index < count; index += 1) {
        const before = index === 0 ? opening : [`sends/${index - 1}/end`];
        await create(...before, `sends/${index}/slot`);
        await send(`${prefix}-${index}`);
      }
      await create(`sends/${count - 1}/end`, 'witnesses/2/a', 'lineage/2');
    },
  };
}
