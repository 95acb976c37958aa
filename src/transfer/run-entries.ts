/**
 * Every entry of one run, as a journal held them at one moment. Invariant: nothing is left out that another entry of the answer
 * rests on, also while a driver writes: what came after the checkpoints that were listed first, and rests on later ones, stays out.
 */
import type { Store } from '../ports';
import { LIFECYCLE_FOLDER } from '../activities/run-files';
import { orderDigest, orderFromBytes } from '../rules/launches/job-order';
import { claimFromBytes } from '../rules/receipts/nonce-claim';
import { slotFromBytes } from '../rules/sends/slot';
import { captureFromBytes } from '../rules/verification/capture-record';
import { lifecycleFromBytes } from '../rules/verification/lifecycle-record';

const LINEAGE = /^lineage-([0-9]{4,})\/$/;
const SENDS = 'sends';
const CLAIMS = 'claims';
const CAPTURES = 'captures';

/** Paths in byte order. `journal.json` is not among them. */
export async function runEntries(store: Store, runId: string): Promise<readonly string[]> {
  const own = await entriesUnder(store, runId);
  const captures = [...(await capturesOf(store, runId)), ...(await callsOf(store, own))];
  return [...own, ...(await claimsOf(store, runId)), ...captures].sort();
}

/** Those in the folder of the run: all but the claims of nonces and captures, which the whole journal shares. */
export async function entriesUnder(store: Store, runId: string): Promise<readonly string[]> {
  const heads = new Map<number, number>();
  const paths: string[] = [];
  for (const name of await store.list(runId)) {
    const number = LINEAGE.exec(name)?.[1];
    if (number === undefined) continue;
    const files = await below(store, `${runId}/${name.slice(0, -1)}`);
    heads.set(Number(number), newest(files));
    paths.push(...files);
  }
  // Next the slots, as each rests on an epoch: whatever they rest on is there when it is listed after them.
  paths.push(...(await slotsUnder(store, `${runId}/${SENDS}`, heads)));
  // And the records of a verification run before the files of its jobs, on which they rest.
  const first = `${LIFECYCLE_FOLDER}/`;
  for (const name of [...(await store.list(runId))].sort((one) => (one === first ? -1 : 1))) {
    if (LINEAGE.test(name) || name === `${SENDS}/`) continue;
    if (name.endsWith('/')) paths.push(...(await below(store, `${runId}/${name.slice(0, -1)}`)));
    else paths.push(`${runId}/${name}`);
  }
  return paths.sort();
}

/** Every run that a journal holds, in order. */
export async function runIds(store: Store): Promise<readonly string[]> {
  const names = await store.list('');
  return names.filter((name) => /^run_[0-9a-f]{32}\/$/.test(name)).map((name) => name.slice(0, -1));
}

async function below(store: Store, folder: string): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const name of await store.list(folder)) {
    if (name.endsWith('/')) paths.push(...(await below(store, `${folder}/${name.slice(0, -1)}`)));
    else paths.push(`${folder}/${name}`);
  }
  return paths;
}

/** Sequence of the last checkpoint; a retired lineage has them all. */
function newest(files: readonly string[]): number {
  if (files.some((file) => file.endsWith('/retired.json'))) return Infinity;
  const numbers = files.map((file) => Number(/checkpoint-([0-9]{20})\.json$/.exec(file)?.[1] ?? -1));
  return Math.max(-1, ...numbers);
}

/**
 * Slots and ends, but for those that were taken under a checkpoint behind `heads`, and later attempts of the same effect: a driver
 * that was overtaken may still close one under an older checkpoint.
 */
async function slotsUnder(
  store: Store,
  folder: string,
  heads: ReadonlyMap<number, number>,
): Promise<readonly string[]> {
  const all = await below(store, folder);
  const left = new Set<string>();
  const cutOff = new Set<string>();
  for (const path of all) {
    if (path.endsWith('.end')) continue;
    const effect = path.slice(0, path.lastIndexOf('/'));
    const bytes = await store.read(path);
    const head = bytes === null ? null : headOf(bytes);
    if (head !== null && head.sequence > (heads.get(head.lineage) ?? -1)) cutOff.add(effect);
    if (cutOff.has(effect)) left.add(path).add(`${path}.end`);
  }
  return all.filter((path) => !left.has(path));
}

/** Null of what is no slot: it is kept, for `verify` to speak of. */
function headOf(bytes: Uint8Array): { readonly lineage: number; readonly sequence: number } | null {
  try {
    return slotFromBytes(bytes).head;
  } catch {
    return null;
  }
}

async function claimsOf(store: Store, runId: string): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const name of await store.list(CLAIMS)) {
    const bytes = await store.read(`${CLAIMS}/${name}`);
    if (bytes !== null && claimedBy(bytes) === runId) paths.push(`${CLAIMS}/${name}`);
  }
  return paths;
}

/** Captures that a verification run used, itself or in an affirmation. */
async function capturesOf(store: Store, runId: string): Promise<readonly string[]> {
  const used: string[] = [];
  for (const path of await below(store, `${runId}/${LIFECYCLE_FOLDER}`)) {
    const bytes = await store.read(path);
    const captureId = bytes === null ? null : capturedBy(bytes);
    if (captureId !== null) used.push(`${CAPTURES}/${captureId}.json`);
  }
  return used;
}

/** The capture of an author's call: it says that the call is a launch of these. */
async function callsOf(store: Store, own: readonly string[]): Promise<readonly string[]> {
  const orders = new Set<string>();
  for (const path of own) {
    const bytes = /\/jobs\/[0-9a-f]{32}\/order\.json$/.test(path) ? await store.read(path) : null;
    const order = bytes === null ? null : digestOfOrder(bytes);
    if (order !== null) orders.add(order);
  }
  if (orders.size === 0) return [];
  const paths: string[] = [];
  for (const name of await store.list(CAPTURES)) {
    const bytes = await store.read(`${CAPTURES}/${name}`);
    const bound = bytes === null ? null : boundOf(bytes);
    if (bound !== null && orders.has(bound)) paths.push(`${CAPTURES}/${name}`);
  }
  return paths;
}

function digestOfOrder(bytes: Uint8Array): string | null {
  try {
    return orderDigest(orderFromBytes(bytes));
  } catch {
    return null;
  }
}

function boundOf(bytes: Uint8Array): string | null {
  try {
    return captureFromBytes(bytes).bound;
  } catch {
    return null;
  }
}

function capturedBy(bytes: Uint8Array): string | null {
  try {
    const { event } = lifecycleFromBytes(bytes);
    if (event.type === 'run_opened') return event.run.snapshot.captureId;
    return event.type === 'target_affirmed' ? event.affirmation.snapshot.captureId : null;
  } catch {
    return null;
  }
}

function claimedBy(bytes: Uint8Array): string | null {
  try {
    return claimFromBytes(bytes).runId;
  } catch {
    return null;
  }
}
