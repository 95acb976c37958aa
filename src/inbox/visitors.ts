/**
 * Who visits, by a cookie that scripts cannot read. Invariant: a visit that nobody signed in sees no content; signing in changes the
 * cookie, so that nobody is let in by one that another had set; a nonce is given to one visit and answered once.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { SIGN_IN_MS } from '../rules/receipts/sign-in';

/** Somebody whom this inbox knows: by a key, or by a token of the identity provider. */
export interface Reviewer {
  /** Digest of the person. */
  readonly person: string;
  /** Null of one who came with a token. */
  readonly kid: string | null;
}

/** How long a sign-in lasts, in milliseconds. */
export const VISIT_MS = 8 * 3_600_000;
/** Most that are remembered of each; the oldest make room. */
const MOST = 1_000;
const MOST_NONCES = 8;

interface Visit {
  readonly reviewer: Reviewer;
  readonly until: number;
}

export class Visitors {
  /** Names this process: whoever was signed in to another one is not known here. */
  readonly instance = randomBytes(8).toString('hex');
  private readonly secret = randomBytes(32);
  private readonly visits = new Map<string, Visit>();
  private readonly nonces = new Map<string, Map<string, number>>();

  /** `now` is in milliseconds, of a clock that only moves forward. */
  constructor(private readonly now: () => number) {}

  /** The id of a cookie that we made, or of a new visit. */
  idOf(cookie: string | undefined): { readonly id: string; readonly fresh: boolean } {
    const [id = '', seal = ''] = (cookie ?? '').split('.');
    if (/^[0-9a-f]{32}$/.test(id) && same(seal, this.seal('visit', id))) return { id, fresh: false };
    return { id: randomBytes(16).toString('hex'), fresh: true };
  }

  cookieOf(id: string): string {
    return `${id}.${this.seal('visit', id)}`;
  }

  /** The token that a form of this visit must bring back. */
  formToken(id: string): string {
    return this.seal('form', id);
  }

  isFormToken(id: string, token: unknown): boolean {
    return typeof token === 'string' && same(token, this.formToken(id));
  }

  reviewer(id: string): Reviewer | null {
    const visit = this.visits.get(id);
    if (visit === undefined || this.now() < visit.until) return visit?.reviewer ?? null;
    this.visits.delete(id);
    return null;
  }

  /** A nonce for this visit to sign. */
  challenge(id: string): string {
    const nonce = `nonce_${randomBytes(16).toString('hex')}`;
    const given = this.nonces.get(id) ?? new Map<string, number>();
    given.set(nonce, this.now() + SIGN_IN_MS);
    keepNewest(given, MOST_NONCES);
    this.nonces.delete(id);
    this.nonces.set(id, given);
    keepNewest(this.nonces, MOST);
    return nonce;
  }

  openNonces(id: string): ReadonlySet<string> {
    const given = [...(this.nonces.get(id) ?? [])];
    return new Set(given.filter(([, until]) => this.now() < until).map(([nonce]) => nonce));
  }

  /** Lets the visit in under a new id, which is answered. Its nonces are gone. */
  admit(id: string, reviewer: Reviewer): string {
    this.leave(id);
    const admitted = randomBytes(16).toString('hex');
    this.visits.set(admitted, { reviewer, until: this.now() + VISIT_MS });
    keepNewest(this.visits, MOST);
    return admitted;
  }

  leave(id: string): void {
    this.visits.delete(id);
    this.nonces.delete(id);
  }

  private seal(purpose: 'visit' | 'form', id: string): string {
    return createHmac('sha256', this.secret).update(`${purpose}/${id}`).digest('hex');
  }
}

function keepNewest(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
