/**
 * Looks for planted texts where none may be: in what a sink throws, in its codes, and in what this process writes meanwhile.
 *
 * Invariant: it only listens; everything that is written still goes where it would have gone.
 */
import { inspect } from 'node:util';

type Write = typeof process.stdout.write;
const CONSOLE = ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const;

export class ContentWatch {
  readonly #planted = new Set<string>();
  heard = false;

  plant(...texts: readonly string[]): void {
    for (const text of texts) if (text !== '') this.#planted.add(text);
  }

  /** Whether anything planted stands in this. */
  foundIn(value: unknown): boolean {
    const text = typeof value === 'string' ? value : shown(value);
    return [...this.#planted].some((planted) => text.includes(planted));
  }

  /** Listens from now on; whether something planted was heard is told by `heard`. */
  listen(): void {
    if (listening.size === 0) wiretap();
    listening.add(this);
  }

  hear(value: unknown): void {
    if (!this.heard && this.foundIn(value instanceof Uint8Array ? Buffer.from(value).toString() : value))
      this.heard = true;
  }

  stop(): void {
    listening.delete(this);
    if (listening.size === 0) for (const restore of restores.splice(0)) restore();
  }
}

const listening = new Set<ContentWatch>();
const restores: (() => void)[] = [];

/** One tap for all who listen, so that cases which run side by side do not take each other's away. */
function wiretap(): void {
  const tell = (values: readonly unknown[]): void => {
    for (const watch of listening) for (const value of values) watch.hear(value);
  };
  for (const stream of [process.stdout, process.stderr]) {
    const own = Object.getOwnPropertyDescriptor(stream, 'write');
    const write = stream.write.bind(stream) as Write;
    stream.write = ((...given: Parameters<Write>) => {
      tell([given[0]]);
      return write(...given);
    }) as Write;
    restores.push(() => {
      if (own === undefined) Reflect.deleteProperty(stream, 'write');
      else Object.defineProperty(stream, 'write', own);
    });
  }
  for (const name of CONSOLE) {
    const say = console[name];
    console[name] = (...given: unknown[]) => {
      tell(given);
      say.apply(console, given);
    };
    restores.push(() => void (console[name] = say));
  }
}

/** An error as a careless logger would show it: message, stack, causes and everything that hangs on it. */
function shown(value: unknown): string {
  try {
    return inspect(value, { depth: 12, showHidden: true, maxArrayLength: null, maxStringLength: null, getters: false });
  } catch {
    return String(value);
  }
}
