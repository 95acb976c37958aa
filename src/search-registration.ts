/**
 * Whether a namespace knows our search attributes. Invariant: they are used only where all of them are there, each in its type; where they
 * are not, whoever carries sessions hears it once, and everything else works.
 */
import type { ConnectionLike } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from './rules/invocations/search-attributes';

type Attribute = (typeof SEARCH_ATTRIBUTES)[number];

/** `IndexedValueType` of Temporal's API, and what its command line calls it. */
const TYPES: Readonly<Record<Attribute['type'], { readonly number: number; readonly word: string }>> = {
  KEYWORD: { number: 2, word: 'Keyword' },
  KEYWORD_LIST: { number: 7, word: 'KeywordList' },
};

/** Namespaces that know them: what is there stays there. */
const searchable = new WeakMap<ConnectionLike['operatorService'], Set<string>>();
/** Namespaces of which it was asked whether there is anything to say. */
const spokenOf = new WeakMap<ConnectionLike['operatorService'], Set<string>>();

export async function isSearchable(connection: ConnectionLike, namespace: string): Promise<boolean> {
  const { operatorService } = connection;
  const known = searchable.get(operatorService) ?? new Set();
  searchable.set(operatorService, known);
  if (known.has(namespace)) return true;
  if ((await missing(connection, namespace)).length > 0) return false;
  known.add(namespace);
  return true;
}

/** Says what to do where a namespace does not know them: once for all workers of a connection. */
export async function warnUnsearchable(
  connection: ConnectionLike,
  namespace: string,
  warn: (sentence: string) => void,
): Promise<void> {
  const { operatorService } = connection;
  const spoken = spokenOf.get(operatorService) ?? new Set();
  spokenOf.set(operatorService, spoken);
  if (spoken.has(namespace)) return;
  spoken.add(namespace);
  const sentence = await unsearchable(connection, namespace);
  if (sentence !== null) warn(sentence);
}

/** What is to be said of a namespace that does not know them; null where it does. */
export async function unsearchable(connection: ConnectionLike, namespace: string): Promise<string | null> {
  const unknown = await missing(connection, namespace);
  if (unknown.length === 0) return null;
  const names = unknown.map(({ name }) => name).join(', ');
  const options = unknown.map(({ name, type }) => `--name ${name} --type ${TYPES[type].word}`).join(' ');
  return (
    `countersign: sessions cannot be searched for in namespace "${namespace}", which does not know ${names}; ` +
    `run "temporal operator search-attribute create --namespace ${namespace} ${options}"`
  );
}

/** A server that does not tell is asked for nothing. */
async function missing({ operatorService }: ConnectionLike, namespace: string): Promise<readonly Attribute[]> {
  try {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    return SEARCH_ATTRIBUTES.filter(({ name, type }) => customAttributes?.[name] !== TYPES[type].number);
  } catch {
    return SEARCH_ATTRIBUTES;
  }
}

/** For `temporal server start-dev`, and for whoever makes a server of their own. */
export function registrations(): readonly string[] {
  return SEARCH_ATTRIBUTES.map(({ name, type }) => `${name}=${TYPES[type].word}`);
}
