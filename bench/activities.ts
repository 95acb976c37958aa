/**
 * What workflows without Countersign call: one send, one look-up, one record, a loop over look-ups and sends, and the durable
 * creates of a governed plan without anything around them.
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
    // Six appends for the run, a slot before and an end after each send, one after the other: what the disk alone costs.
    creates: async (prefix, count) => {
      const create = async (name: string): Promise<void> => void (await store.create(`${prefix}/${name}`, bytes));
      for (const name of ['plan', 'epoch', 'planned', 'witness', 'dispatching']) await create(name);
      for (let index = 0; index < count; index += 1) {
        await create(`sends/${index}/slot`);
        await send(`${prefix}-${index}`);
        await create(`sends/${index}/end`);
      }
      await create('completed');
    },
  };
}
