// A worker over standard input and output, steered by its one argument: what it does, in order.
import { createInterface } from 'node:readline';

const { COUNTERSIGN_WORKER_CREDENTIAL: credential, ...rest } = process.env;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const ask = async (request) => {
  process.stdout.write(`${JSON.stringify(request)}\n`);
  return JSON.parse((await lines.next()).value);
};

const STEPS = {
  context: async () => void (seen = await ask({ credential, op: 'context' })),
  submit: async () => void (seen = await ask({ credential, op: 'submit', output: { verdict: 'fine', seen } })),
  same: () => ask({ credential, op: 'submit', output: { verdict: 'same' } }),
  other: async () => void (seen = await ask({ credential, op: 'submit', output: { verdict: 'other' } })),
  stranger: async () => void (seen = await ask({ credential: 'wrk_0', op: 'context' })),
  without: async () => void (seen = await ask({ op: 'submit', output: 1 })),
  junk: async () => void (seen = await ask('junk')),
  environment: async () => void (seen = { names: Object.keys(rest).sort(), argv: process.argv.slice(2) }),
  flood: async () => void process.stdout.write('x'.repeat(3_000_000)),
  later: () => new Promise((resolve) => setTimeout(resolve, 1_500)),
  wait: () => new Promise(() => setInterval(() => undefined, 1_000)),
  exit: async () => process.exit(3),
};

let seen = null;
for (const step of process.argv[2].split(',')) await STEPS[step]();
process.exit(0);
