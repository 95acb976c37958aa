/**
 * The data keys of an encrypted content store, each wrapped by a master key: `data-keys/<data key>/<master key>`.
 *
 * Invariant: a data key is used only after a wrapped copy of it is durable and has been read back, and a copy is removed only
 * when one under the current master key has been opened. So a rotation may be killed anywhere: every entry opens before,
 * during and after it, and no entry is ever written anew.
 */
import { type ContentStore, StoreError } from '../../ports';
import { CustodyError } from '../reviewers/custody-error';
import { type ContentKeys, isContentKeyId, missingKey } from './content-keys';
import { type DataKey, dataKeyOf, isDataKeyId, newDataKey, SECRET_BYTES } from './sealed-entry';

/** First segment, kept from the users of the store. */
export const DATA_KEYS = 'data-keys';
/** A copy that a rotation removes while it is looked for is looked for again. */
const ATTEMPTS = 3;

const copyPath = (id: string, master: string): string => `${DATA_KEYS}/${id}/${master}`;
const boundTo = (id: string, master: string): string => `countersign.data_key.v1/${id}/${master}`;

export class DataKeys {
  readonly #opened = new Map<string, DataKey>();
  readonly #forNew = new Map<string, Promise<DataKey>>();

  constructor(
    private readonly store: ContentStore,
    private readonly keys: ContentKeys,
  ) {}

  /** The one that new entries are encrypted with: wrapped by the current master key. */
  async forNew(): Promise<DataKey> {
    const master = await asked(() => this.keys.current());
    const chosen = this.#forNew.get(master) ?? this.#choose(master);
    this.#forNew.set(master, chosen);
    try {
      const key = await chosen;
      this.#opened.set(key.id, key);
      return key;
    } catch (fault) {
      this.#forNew.delete(master);
      throw fault;
    }
  }

  /** Throws while no copy of it can be opened: whatever it is needed for is there, and not absent. */
  async byId(id: string): Promise<DataKey> {
    const known = this.#opened.get(id);
    if (known !== undefined) return known;
    let masters: readonly string[] = [];
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      masters = await this.mastersOf(id);
      for (const master of masters) {
        const found = await this.open(id, master);
        if (found === null) continue;
        this.#opened.set(id, found);
        return found;
      }
    }
    if (masters.length > 0) throw missingKey(...masters);
    const reason = `data key ${id} is not in the store, and contents here need it`;
    throw new StoreError('store_unavailable', `${reason}; restore ${DATA_KEYS}/ from a copy of the store`);
  }

  async ids(): Promise<readonly string[]> {
    const names = (await this.store.list(DATA_KEYS)).map((name) => name.replace(/\/$/, ''));
    return names.filter(isDataKeyId);
  }

  async mastersOf(id: string): Promise<readonly string[]> {
    return (await this.store.list(`${DATA_KEYS}/${id}`)).filter(isContentKeyId);
  }

  /** Null: there is no copy under this master key, or the master key is not here. */
  async open(id: string, master: string): Promise<DataKey | null> {
    const wrapped = await this.store.read(copyPath(id, master));
    if (wrapped === null) return null;
    const secret = await asked(() => this.keys.unwrap(master, wrapped, boundTo(id, master)));
    if (secret === null) return null;
    const key = dataKeyOf(secret);
    if (secret.length === SECRET_BYTES && key.id === id) return key;
    const reason = `"${copyPath(id, master)}" opens as another key than it is named for`;
    throw new StoreError('store_unsafe_entry', `${reason}; restore it from a copy of the store`);
  }

  /** Adds a copy under a master key, and proves that it opens. */
  async keep(key: DataKey, master: string): Promise<void> {
    const wrapped = await asked(() => this.keys.wrap(master, key.secret, boundTo(key.id, master)));
    await this.store.create(copyPath(key.id, master), wrapped); // a conflict is a copy that another has made
    if ((await this.open(key.id, master)) !== null) return;
    throw new StoreError('store_io_failed', `"${copyPath(key.id, master)}" cannot be read back; look at the store`);
  }

  async remove(id: string, master: string): Promise<void> {
    await this.store.delete(copyPath(id, master));
  }

  async #choose(master: string): Promise<DataKey> {
    for (const id of await this.ids()) {
      const found = (await this.mastersOf(id)).includes(master) ? await this.open(id, master) : null;
      if (found !== null) return found;
    }
    const made = newDataKey();
    await this.keep(made, master);
    return made;
  }
}

/** What a rotation of content keys came to. */
export interface Rotated {
  readonly current: string;
  readonly dataKeys: number;
  /** Data keys that have got a copy under the current master key. */
  readonly added: number;
  /** Copies under other master keys that were removed. */
  readonly removed: number;
  /** Data keys that no master key here opens; their copies are left as they are. */
  readonly locked: readonly { readonly dataKey: string; readonly masters: readonly string[] }[];
}

/** Puts every data key under the current master key alone. Repeat it after whatever interrupted it. */
export async function rotateContentKeys(store: ContentStore, keys: ContentKeys): Promise<Rotated> {
  const data = new DataKeys(store, keys);
  const current = await asked(() => keys.current());
  const ids = await data.ids();
  const locked: { dataKey: string; masters: readonly string[] }[] = [];
  let [added, removed] = [0, 0];
  for (const id of ids) {
    const masters = await data.mastersOf(id);
    const others = masters.filter((master) => master !== current);
    if (!masters.includes(current)) {
      const key = await firstThatOpens(data, id, others);
      if (key === null) {
        locked.push({ dataKey: id, masters });
        continue;
      }
      await data.keep(key, current);
      added += 1;
    } else if ((await data.open(id, current)) === null) {
      throw missingKey(current);
    }
    for (const master of others) await data.remove(id, master);
    removed += others.length;
  }
  return { current, dataKeys: ids.length, added, removed, locked };
}

async function firstThatOpens(data: DataKeys, id: string, masters: readonly string[]): Promise<DataKey | null> {
  for (const master of masters) {
    const key = await data.open(id, master);
    if (key !== null) return key;
  }
  return null;
}

/** Which master keys the contents of a store still rest on: of how many data keys each has a copy, and the only one. */
export async function contentKeyUse(
  store: ContentStore,
): Promise<ReadonlyMap<string, { readonly copies: number; readonly only: number }>> {
  const use = new Map<string, { copies: number; only: number }>();
  for (const id of await store.list(DATA_KEYS)) {
    const masters = (await store.list(`${DATA_KEYS}/${id.replace(/\/$/, '')}`)).filter(isContentKeyId);
    for (const master of masters) {
      const { copies, only } = use.get(master) ?? { copies: 0, only: 0 };
      use.set(master, { copies: copies + 1, only: only + (masters.length === 1 ? 1 : 0) });
    }
  }
  return use;
}

/** A custody's own words may hold anything: what it throws is only told by its kind. */
async function asked<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    const why = cause instanceof CustodyError ? `cannot be used: ${cause.message}` : 'does not answer';
    const reason = `the custody of the content keys ${why}; it is asked again with the next try`;
    throw new StoreError('store_unavailable', reason, { cause });
  }
}
