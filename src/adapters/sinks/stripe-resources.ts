/**
 * The resources of Stripe that an effect may create, and what an object found there says about an effect.
 *
 * Invariant: only an object that carries our key in its metadata counts, and one that Stripe declined never counts as done.
 */
import { type SinkAnswer, type SinkItem } from '../../ports';

/** What an operation may make. */
export type StripeResource = 'charges' | 'payment_intents' | 'refunds';

export interface StripeOperation {
  readonly resource: StripeResource;
  readonly params: Readonly<Record<string, unknown>>;
}

interface Rule {
  /** Parameters that both a creation and a list take: with one of them a list is short. */
  readonly narrowedBy: readonly string[];
  /** Whether an object in this state shows an attempt that Stripe turned down, so that nothing was done. */
  readonly declined: (status: unknown, params: StripeOperation['params']) => boolean;
}

/** What is still pending, processing or waiting for the customer was ordered all the same. */
export const RESOURCES: Readonly<Record<StripeResource, Rule>> = {
  charges: { narrowedBy: ['customer'], declined: (status) => status === 'failed' },
  payment_intents: {
    narrowedBy: ['customer'],
    // Confirmed at once and declined, it stays behind as if it had never been paid. A text is the same on the wire.
    declined: (status, params) => String(params['confirm']) === 'true' && status === 'requires_payment_method',
  },
  refunds: {
    narrowedBy: ['charge', 'payment_intent'],
    declined: (status) => status === 'failed' || status === 'canceled',
  },
};

export const KEY_FIELD = 'countersign_key';
export const DIGEST_FIELD = 'countersign_digest';
const FIELDS: ReadonlySet<string> = new Set(['resource', 'params']);

type Dict = Readonly<Record<string, unknown>>;

const isDict = (value: unknown): value is Dict => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The operation, or `null` when it is none or would write what only the sink may write. */
export function parseStripeOperation(value: unknown, allowed: ReadonlySet<StripeResource>): StripeOperation | null {
  if (!isDict(value) || Object.keys(value).some((name) => !FIELDS.has(name))) return null;
  const { resource, params } = value;
  if (!allowed.has(resource as StripeResource) || !isDict(params)) return null;
  const { metadata = {} } = params;
  if (!isDict(metadata) || KEY_FIELD in metadata || DIGEST_FIELD in metadata) return null;
  return { resource: resource as StripeResource, params };
}

/** What is sent: the author's parameters, with key and digest in the metadata. */
export function parametersOf({ params }: StripeOperation, item: SinkItem): Record<string, unknown> {
  const marks = { [KEY_FIELD]: item.idempotencyKey, [DIGEST_FIELD]: item.operationDigest };
  return { ...params, metadata: { ...(params['metadata'] as Dict | undefined), ...marks } };
}

/** The parameter by which a list of this operation's resource is kept short, when it has one. */
export function narrowingOf({ resource, params }: StripeOperation): readonly [name: string, value: string] | null {
  for (const name of RESOURCES[resource].narrowedBy) {
    const value = params[name];
    if (typeof value === 'string' && value !== '') return [name, value];
  }
  return null;
}

/** One object as Stripe lists it. */
export interface StripeObject {
  readonly id: string;
  readonly created: number;
  readonly status: unknown;
  readonly metadata: Dict;
  readonly whole: Dict;
}

export function parseObject(value: unknown): StripeObject | null {
  if (!isDict(value)) return null;
  const { id, created, status, metadata = {} } = value;
  if (typeof id !== 'string' || id === '' || !Number.isSafeInteger(created) || !isDict(metadata)) return null;
  return { id, created: created as number, status, metadata, whole: value };
}

/** What these objects, all with this item's key, say about it. */
export function answerOf(operation: StripeOperation, found: readonly StripeObject[]): SinkAnswer | 'several' {
  const { declined } = RESOURCES[operation.resource];
  const done = found.filter(({ status }) => !declined(status, operation.params));
  const [first, ...others] = done;
  if (!first) return { state: 'absent' };
  if (others.some(({ id }) => id !== first.id)) return 'several';
  const digest = first.metadata[DIGEST_FIELD];
  // A digest that is missing is another digest: somebody else wrote our key.
  return {
    state: 'committed',
    operationDigest: typeof digest === 'string' ? digest : `sha256:${'0'.repeat(64)}`,
    externalId: first.id,
    result: first.whole,
  };
}
