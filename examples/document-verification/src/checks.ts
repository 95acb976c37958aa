/** The checks that run in the worker itself: cheap, certain, and made before anything is launched. */
import type { CheckDefinition } from 'countersign';

interface Finding {
  readonly find: string;
  readonly replace: string;
}

/** Every link into the document leads to a heading of it. */
function links(target: string, configuration: unknown): Finding[] {
  const { headings } = configuration as { headings: readonly string[] };
  return [...target.matchAll(/\]\(#([^)]+)\)/g)]
    .filter(([, anchor]) => !headings.includes(anchor ?? ''))
    .map(([find, anchor]) => {
      const near = headings.find((heading) => anchor?.startsWith(heading));
      return { find, replace: near === undefined ? ']' : `](#${near})` };
    });
}

/** One word for one thing. */
function terms(target: string, configuration: unknown): Finding[] {
  const { say, notSay } = configuration as { say: string; notSay: readonly string[] };
  return notSay.filter((word) => target.includes(word)).map((find) => ({ find, replace: say }));
}

export const checks: readonly CheckDefinition[] = Object.entries({ links, terms }).map(([binding, look]) => ({
  binding,
  check: {
    run: ({ configuration, target }) => {
      const findings = look(String(target), configuration);
      return Promise.resolve({ outcome: findings.length === 0 ? 'conforms' : 'departs', content: { findings } });
    },
  },
}));
