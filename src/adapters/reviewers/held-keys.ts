/**
 * Keys that are held for a moment. Invariant: no answer is older than `keptMs`, counted from before it was asked for; a custody
 * that fails is ridden over only as long as that, and a key id that nobody knows cannot make us ask more often than `askAgainMs`.
 */
import { findKey, type Jwks } from '../../rules/receipts/jwks';
import { Refusal } from '../../rules/refusal';
import type { Reviewers } from '../../ports';

export interface Holding {
  /** Not asked again before so many milliseconds, unless a key is missing. */
  readonly freshMs: number;
  /** Used no longer than so many milliseconds. */
  readonly keptMs: number;
  /** Least time between two questions while there is an answer to use. */
  readonly askAgainMs: number;
  /** Milliseconds of a clock that never goes back. */
  readonly clock: () => number;
}

export const KEPT_MS = 60_000;

/** `ask` is given the answer that is held, so that it can say cheaply that nothing has changed. */
export function holdKeys(ask: (held: Jwks | null) => Promise<Jwks>, holding: Holding): Reviewers {
  let held: { readonly jwks: Jwks; readonly at: number } | null = null;
  let asking: Promise<Jwks> | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;

  const usable = (): Jwks | null => (held !== null && holding.clock() - held.at < holding.keptMs ? held.jwks : null);

  const question = (): Promise<Jwks> => {
    askedAt = holding.clock();
    const at = askedAt;
    asking ??= ask(held?.jwks ?? null)
      .then((jwks) => {
        held = { jwks, at };
        return jwks;
      })
      .finally(() => (asking = null));
    return asking;
  };

  return {
    async load(kid) {
      const now = holding.clock();
      const known = usable();
      if (held !== null && known !== null) {
        const fresh = now - held.at < holding.freshMs;
        if (fresh && (kid === undefined || findKey(known, kid) !== null)) return known;
        if (asking === null && now - askedAt < holding.askAgainMs) return known;
      }
      try {
        return await (asking ?? question());
      } catch (fault) {
        const still = usable();
        if (still !== null) return still;
        throw fault instanceof Refusal
          ? fault
          : new Refusal('reviewers_unavailable', 'the reviewers’ keys are not there');
      }
    },
  };
}
