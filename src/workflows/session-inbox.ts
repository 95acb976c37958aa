/**
 * What the user has said and the session has not taken up yet. Invariant: a message is taken once however often it comes, and in the
 * order in which it came first.
 */
import type { CarriedSession, UserMessage } from './session-messages';

/** Names of messages that are remembered, so that one that comes again is no new one. */
const MOST_HANDLED = 1_000;

export class Inbox {
  private readonly messages: UserMessage[];
  private readonly handled: Set<string>;

  constructor(carried: Pick<CarriedSession, 'inbox' | 'handled'> | undefined, first: UserMessage | undefined) {
    const begun = first === undefined ? [] : [first];
    this.messages = [...(carried?.inbox ?? begun)];
    this.handled = new Set(carried?.handled ?? begun.map(({ message_id: id }) => id));
  }

  get size(): number {
    return this.messages.length;
  }

  /** A message that is known already is not taken a second time. */
  take(message: UserMessage): void {
    if (this.handled.has(message.message_id)) return;
    this.handled.add(message.message_id);
    for (const oldest of this.handled) {
      if (this.handled.size <= MOST_HANDLED) break;
      this.handled.delete(oldest);
    }
    this.messages.push(message);
  }

  next(): UserMessage | undefined {
    return this.messages.shift();
  }

  /** It is the next one again. */
  putBack(message: UserMessage): void {
    this.messages.unshift(message);
  }

  get carried(): Pick<CarriedSession, 'inbox' | 'handled'> {
    return { inbox: this.messages, handled: [...this.handled] };
  }
}
