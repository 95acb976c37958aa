/**
 * The key of whoever uses this browser. Invariant: its private half is made here, cannot be read by any script, ours included, and is
 * never sent; it signs a statement that the rules' own code has read and found well-formed.
 */
import { statementFromText } from '../../rules/receipts/statement';
import { signedBytes, signingInput, withSignature } from '../../rules/receipts/jws';
import { thumbprint } from '../../rules/receipts/signing-key';

export interface OwnKey {
  readonly kid: string;
  /** The public half, as reviewers' key sets hold it. */
  readonly x: string;
  sign(statement: string): Promise<string>;
}

const STORE = 'keys';
const NAME = 'own';

/** Null while there is none. */
export async function ownKey(): Promise<OwnKey | null> {
  const pair = await withStore<CryptoKeyPair | undefined>('readonly', (store) => store.get(NAME));
  return pair === undefined ? null : keyOf(pair);
}

/** Throws where the browser cannot make such keys. */
export async function makeOwnKey(): Promise<OwnKey> {
  const made = (await crypto.subtle.generateKey({ name: 'Ed25519' }, false, ['sign', 'verify'])) as CryptoKeyPair;
  // Another page of ours may have made one meanwhile: the first one counts.
  await withStore('readwrite', (store) => store.add(made, NAME)).catch(() => undefined);
  const kept = await ownKey();
  if (kept === null) throw new Error('the key could not be kept');
  return kept;
}

async function keyOf({ publicKey, privateKey }: CryptoKeyPair): Promise<OwnKey> {
  const { x = '' } = await crypto.subtle.exportKey('jwk', publicKey);
  const kid = thumbprint(x);
  return {
    kid,
    x,
    sign: async (statement) => {
      const signed = signingInput(statementFromText(statement), kid);
      const bytes = signedBytes(signed) as Uint8Array<ArrayBuffer>;
      return withSignature(signed, new Uint8Array(await crypto.subtle.sign('Ed25519', privateKey, bytes)));
    },
  };
}

async function withStore<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest): Promise<T> {
  const database = await done<IDBDatabase>(opened());
  try {
    return await done<T>(act(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

function opened(): IDBOpenDBRequest {
  const request = indexedDB.open('countersign', 1);
  request.addEventListener('upgradeneeded', () => void request.result.createObjectStore(STORE));
  return request;
}

function done<T>(request: IDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result as T));
    request.addEventListener('error', () => reject(request.error ?? new Error('the browser keeps nothing')));
  });
}
