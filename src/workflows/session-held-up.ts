/**
 * What a session waits for although every worker that tried was unable to do it, as its activities tell. Invariant: no command of the
 * workflow depends on it; it holds codes and names, whatever it is sent.
 */
import { HELD_UP_CODES, type HeldUpMessage } from '../activities/session-contract';
import type { HeldUp } from './session-messages';

const MOST_CHARACTERS = 128;
/** Activities of a session that run at once are fewer; what else comes is not ours. */
const MOST_ACTIVITIES = 64;

export class SessionHeldUp {
  private readonly causes = new Map<string, HeldUp>();

  constructor(private readonly changed: () => void) {}

  hear(message: unknown): void {
    const { activity, code, about } = (message ?? {}) as Partial<Record<keyof HeldUpMessage, unknown>>;
    if (typeof activity !== 'string') return;
    const known = HELD_UP_CODES.find((one) => one === code);
    const since = this.causes.get(activity)?.since ?? Date.now();
    if (known === undefined) this.causes.delete(activity);
    else if (this.causes.has(activity) || this.causes.size < MOST_ACTIVITIES) {
      this.causes.set(activity, { code: known, about: typeof about === 'string' ? plain(about) : null, since });
    }
    this.changed();
  }

  /** Something that was waited for is done, or nobody waits for it any more. */
  clear(): void {
    if (this.causes.size === 0) return;
    this.causes.clear();
    this.changed();
  }

  get first(): HeldUp | null {
    return this.causes.values().next().value ?? null;
  }
}

/** In one line, and in one cell of the details. */
function plain(text: string): string {
  return text.slice(0, MOST_CHARACTERS).replace(/[^\x20-\x7e]|[`|]/g, '?');
}
