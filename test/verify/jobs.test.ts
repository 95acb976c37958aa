/**
 * A journal of launches, one for each way in which a job can go, and everything that can be done to it.
 *
 * Held here:
 * - the honest journal verifies strictly, whole and run by run, and counts its jobs; so does each state that it went through;
 * - an entry that is gone, changed, exchanged with that of another job, forged or out of place is found at its place;
 * - what is gone without a trace is only what every launch lacks at some moment: its outcome, or the whole job; of a chain, not even that;
 * - a successor whose parent never submitted, or that another person authorized, is found, also where no record of the run is left;
 * - a changed byte in any of these files is found, or stands in a field that nothing rests on.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { EndReason } from '../../src/rules/launches/job-outcome';
import { canonicalJson } from '../../src/rules/recovery';
import { verifyJournal, type FindingCode } from '../../src/verify';
import { findKey, type ReviewerKey } from '../../src/rules/receipts/jwks';
import { signReceipt } from '../../src/rules/receipts/jws';
import { launchUnder } from '../../src/rules/receipts/launch-receipt';
import { receiptFromBytes, receiptToText } from '../../src/rules/receipts/receipt-record';
import { plannedJobs } from '../../src/rules/verification/chain';
import { LaunchBench } from '../activities/launch-bench';
import { RunBench } from '../activities/run-bench';
import { KEYS, signer } from '../rules/receipts/support';
import { draft } from '../workflows/verification/drafts';
import { MemoryStore } from '../activities/simulation/store';
import { Chance } from '../support/damage';
import { memoryView } from './memory-view';

type Files = Map<string, Uint8Array>;
const encoder = new TextEncoder();
const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

const launched = async (bench: LaunchBench): Promise<void> => void (await bench.launch());
const ended =
  (reason: EndReason, refusal: string | null = null) =>
  async (bench: LaunchBench): Promise<void> =>
    void (await bench.settle({ does: 'end', reason, refusal }));

/** What happens to each job, in order. */
const STORIES = {
  submitted: [launched, async (bench) => void (await bench.launched[0]?.door.submit({ answer: 42 }))],
  running: [launched],
  refused: [
    async (bench) => {
      bench.outcome = { outcome: 'refused', code: 'no_budget' };
      await bench.launch();
    },
    ended('provider_refused', 'no_budget'),
  ],
  not_launched: [
    async (bench) => {
      bench.outcome = { outcome: 'not_launched' };
      await bench.launch();
    },
    ended('provider_refused', 'not_launched'),
  ],
  unknown: [
    async (bench) => {
      bench.outcome = 'throw';
      await bench.launch();
    },
    ended('launch_outcome_unknown'),
  ],
  exited: [launched, ended('worker_exited_before_submission')],
  late: [launched, ended('running_deadline_exceeded')],
  closed: [async (bench) => void (await bench.settle({ does: 'close' })), ended('dispatch_exhausted')],
  expired: [ended('authorization_expired')],
} as const satisfies Record<string, readonly ((bench: LaunchBench) => Promise<void>)[]>;
type Story = keyof typeof STORIES;
const NAMES = Object.keys(STORIES) as Story[];

let journal: Files;
let benches: Record<Story, LaunchBench>;
const folders = {} as Record<Story, string>;
/** The journal as it stood after each step. */
const states: Files[] = [];

beforeAll(async () => {
  const store = new MemoryStore();
  const made = await Promise.all(NAMES.map(async (name) => [name, await LaunchBench.make(name, store)] as const));
  benches = Object.fromEntries(made) as typeof benches;
  for (const name of NAMES) {
    for (const step of STORIES[name]) {
      await step(benches[name]);
      states.push(new Map(store.entries));
    }
    const { run_id: run, job_id: job } = benches[name].record;
    folders[name] = `${String(run)}/jobs/${String(job)}`;
  }
  journal = new Map(store.entries);
});

describe('an honest journal', () => {
  it('verifies strictly, in each state that it went through', async () => {
    for (const files of states) {
      expect(await verifyJournal(memoryView(files), { strict: true })).toMatchObject({ ok: true, findings: [] });
    }
    expect((await verifyJournal(memoryView(journal))).runs.map(({ jobs }) => jobs)).toEqual(NAMES.map(() => 1));
  });

  it('verifies run by run', async () => {
    for (const name of NAMES) {
      const run = folders[name].split('/')[0] as string;
      const alone = [...journal].filter(([path]) => path.startsWith(run));
      const files = new Map(alone.map(([path, bytes]) => [path.slice(run.length + 1), bytes]));
      const report = await verifyJournal(memoryView(files), { strict: true });
      expect(report).toMatchObject({ kind: 'run', ok: true, findings: [], runs: [{ jobs: 1 }] });
    }
  });
});

const at = (name: Story, entry: string): string => `${folders[name]}/${entry}`;
const gone =
  (name: Story, ...entries: string[]) =>
  (files: Files) => {
    for (const entry of entries) expect(files.delete(at(name, entry))).toBe(true);
  };
const edited = (name: Story, entry: string, from: string | RegExp, to: string) => (files: Files) => {
  const before = text(files.get(at(name, entry)));
  expect(before).toMatch(from);
  files.set(at(name, entry), encoder.encode(before.replace(from, to)));
};
/** The entry of another job in the place of this one's. */
const taken =
  (name: Story, entry: string, from: Story, theirs = entry) =>
  (files: Files) =>
    void files.set(at(name, entry), files.get(at(from, theirs)) as Uint8Array);
const all =
  (...steps: readonly ((files: Files) => void)[]) =>
  (files: Files) =>
    steps.forEach((step) => step(files));
const claimOf = (name: Story): string => {
  const runId = folders[name].split('/')[0] as string;
  const path = [...journal.keys()].find((one) => one.startsWith('claims/') && text(journal.get(one)).includes(runId));
  return path ?? '';
};

const ZEROES = '0'.repeat(32);
const DIGEST = /sha256:[0-9a-f]{64}/;
const OTHER = `sha256:${'0'.repeat(64)}`;

type Damage = readonly [where: Story, entry: string, code: FindingCode, damage: (files: Files) => void];
const DAMAGES: Readonly<Record<string, Damage>> = {
  'an order that is gone': ['submitted', 'order.json', 'job_invalid', gone('submitted', 'order.json')],
  'a receipt that is gone': ['running', 'receipt.json', 'job_invalid', gone('running', 'receipt.json')],
  'a slot that is gone': ['running', 'worker.json', 'job_invalid', gone('running', '0001')],
  'a slot that is gone with all that it had': ['late', 'outcome.json', 'job_invalid', gone('late', '0001', '0001.end', 'worker.json')],
  'a submission of which only the outcome is left': ['submitted', 'outcome.json', 'job_invalid', gone('submitted', 'order.json', 'receipt.json', '0001', '0001.end', 'worker.json')],
  'a pass that is gone': ['running', 'worker.json', 'job_invalid', gone('running', 'worker.json')],
  'an acknowledgement that is gone': ['late', 'outcome.json', 'job_invalid', gone('late', '0001.end')],
  'a refusal that is gone': ['refused', 'outcome.json', 'job_invalid', gone('refused', '0001.end')],
  'a closed slot that is gone': ['closed', 'outcome.json', 'job_invalid', gone('closed', '0001')],

  'an order of another model': ['submitted', 'receipt.json', 'job_invalid', edited('submitted', 'order.json', '"model":"m"', '"model":"n"')],
  'an order of another ceiling': ['submitted', '0001', 'job_invalid', edited('submitted', 'order.json', '"cost_ceiling":5', '"cost_ceiling":9')],
  'an order for another workflow': ['submitted', '0001', 'job_invalid', edited('submitted', 'order.json', /"origin":"sha256:[0-9a-f]{64}"/, `"origin":"${OTHER}"`)],
  'an order of another job': ['submitted', 'order.json', 'job_invalid', edited('submitted', 'order.json', /"job_id":"[0-9a-f]{32}"/, `"job_id":"${ZEROES}"`)],
  'half an order': ['submitted', 'order.json', 'job_invalid', (files) => void files.set(at('submitted', 'order.json'), (files.get(at('submitted', 'order.json')) as Uint8Array).slice(0, 40))],
  'a signature that is another': ['submitted', 'receipt.json', 'job_invalid', edited('submitted', 'receipt.json', /\.[A-Za-z0-9_-]{86}"/, `.${'A'.repeat(86)}"`)],
  'a key that did not sign': ['submitted', 'receipt.json', 'job_invalid', edited('submitted', 'receipt.json', /"x":"[^"]{43}"/, `"x":"${'A'.repeat(43)}"`)],
  'a slot of another order': ['running', '0001', 'job_invalid', edited('running', '0001', DIGEST, OTHER)],
  'a slot of another owner': ['running', 'worker.json', 'job_invalid', edited('running', '0001', /own_[0-9a-f]{32}/, `own_${ZEROES}`)],
  'a slot of a plan': ['running', '0001', 'job_invalid', edited('running', '0001', '"epoch":0', '"epoch":1')],
  'a slot under a checkpoint': ['running', '0001', 'job_invalid', edited('running', '0001', '"sequence":0', '"sequence":3')],
  'a slot that was begun too late': ['running', '0001', 'job_invalid', edited('running', '0001', /"opened_at":1700000000000/, '"opened_at":1700000060000')],
  'a begun slot that says that it was closed': ['running', 'worker.json', 'job_invalid', edited('running', '0001', '"begun"', '"closed"')],
  'a closed slot that says that it was begun': ['closed', 'receipt.json', 'job_invalid', edited('closed', '0001', '"closed"', '"begun"')],
  'an end of another owner': ['running', '0001.end', 'job_invalid', edited('running', '0001.end', /own_[0-9a-f]{32}/, `own_${ZEROES}`)],
  'an end with an external id': ['running', '0001.end', 'job_invalid', edited('running', '0001.end', '"external_id":null', '"external_id":"x"')],
  'an end that says another refusal': ['refused', 'outcome.json', 'job_invalid', edited('refused', '0001.end', 'no_budget', 'busy')],
  'a refusal that was none': ['refused', 'outcome.json', 'job_invalid', edited('refused', '0001.end', '"code":"no_budget"', '"code":null')],
  'a pass of another credential': ['submitted', 'outcome.json', 'job_invalid', edited('submitted', 'worker.json', DIGEST, OTHER)],
  'a pass of another job': ['running', 'worker.json', 'job_invalid', edited('running', 'worker.json', /"job_id":"[0-9a-f]{32}"/, `"job_id":"${ZEROES}"`)],
  'an outcome of another worker': ['submitted', 'outcome.json', 'job_invalid', edited('submitted', 'outcome.json', /"worker":"sha256:[0-9a-f]{64}"/, `"worker":"${OTHER}"`)],
  'an outcome of another job': ['expired', 'outcome.json', 'job_invalid', edited('expired', 'outcome.json', /"job_id":"[0-9a-f]{32}"/, `"job_id":"${ZEROES}"`)],
  'an outcome that says another refusal': ['refused', 'outcome.json', 'job_invalid', edited('refused', 'outcome.json', 'no_budget', 'busy')],
  'a refused launch that ends as a deadline': ['refused', 'outcome.json', 'job_invalid', edited('refused', 'outcome.json', '"reason":"provider_refused","refusal":"no_budget"', '"reason":"running_deadline_exceeded","refusal":null')],
  'a launch that was begun, and ends as never handed off': ['unknown', 'outcome.json', 'job_invalid', edited('unknown', 'outcome.json', 'launch_outcome_unknown', 'dispatch_exhausted')],
  'a job that nobody began, and whose worker is gone': ['closed', 'outcome.json', 'job_invalid', edited('closed', 'outcome.json', 'dispatch_exhausted', 'worker_exited_before_submission')],

  'the order of another job': ['submitted', 'order.json', 'job_invalid', taken('submitted', 'order.json', 'running')],
  'the receipt of another job': ['submitted', 'receipt.json', 'job_invalid', taken('submitted', 'receipt.json', 'running')],
  'the slot of another job': ['submitted', '0001', 'job_invalid', taken('submitted', '0001', 'running')],
  'the end of another job': ['submitted', '0001.end', 'job_invalid', taken('submitted', '0001.end', 'running')],
  'the pass of another job': ['submitted', 'worker.json', 'job_invalid', taken('submitted', 'worker.json', 'running')],
  'the outcome of another job': ['running', 'outcome.json', 'job_invalid', taken('running', 'outcome.json', 'submitted')],
  'a job whose outcome has the place of its order': ['submitted', 'order.json', 'job_invalid', taken('submitted', 'order.json', 'submitted', 'outcome.json')],

  'a submission that nobody handed in': [
    'unknown', 'outcome.json', 'job_invalid',
    all(taken('unknown', 'outcome.json', 'submitted'), (files) => edited('unknown', 'outcome.json', /"job_id":"[0-9a-f]{32}"/, `"job_id":"${folders.unknown.slice(-32)}"`)(files)),
  ],
  'a launch without anybody’s word': [
    'closed', 'receipt.json', 'job_invalid',
    all(taken('closed', '0001', 'running'), taken('closed', 'worker.json', 'running')),
  ],
  'a receipt for a job that has no order': ['closed', 'order.json', 'job_invalid', taken('closed', 'receipt.json', 'running')],

  'a second slot': ['submitted', '0002', 'entry_unexpected', taken('submitted', '0002', 'running', '0001')],
  'a stranger among the entries': ['submitted', 'notes.txt', 'entry_unexpected', (files) => void files.set(at('submitted', 'notes.txt'), encoder.encode('x'))],
  'a folder in the place of an entry': ['expired', 'order.json', 'entry_unreadable', (files) => void files.set(at('expired', 'order.json/x'), encoder.encode('x'))],
  'a job under another name': [
    'submitted', '', 'job_invalid',
    (files) => {
      for (const [path, bytes] of [...files]) {
        if (!path.startsWith(folders.submitted)) continue;
        files.delete(path);
        files.set(path.replace(folders.submitted.slice(-32), ZEROES), bytes);
      }
    },
  ],
  'a job in another run': [
    'submitted', '', 'job_invalid',
    (files) => {
      for (const [path, bytes] of [...files]) {
        if (path.startsWith(folders.submitted)) files.set(path.replace(/^run_[0-9a-f]{32}/, folders.running.slice(0, 36)), bytes);
      }
    },
  ],
  'a file among the jobs': ['submitted', '', 'entry_unexpected', (files) => void files.set(`${folders.submitted.slice(0, 36)}/jobs/x`, encoder.encode('x'))],
}; // prettier-ignore

describe('a chain of jobs', () => {
  /** A run's jobs without its records, which say the same once more. */
  async function chain(): Promise<{ parent: string; child: string; jobs: () => Files }> {
    const bench = new RunBench();
    const prepared = await bench.prepare(draft(0, 2));
    await bench.carry(prepared);
    const [parent = '', child = ''] = plannedJobs(prepared.run).map(({ jobId }) => `${prepared.runId}/jobs/${jobId}`);
    const jobs = (): Files => new Map([...bench.journal.entries].filter(([path]) => !path.includes('/lifecycle/')));
    return { parent, child, jobs };
  }
  const faults = async (files: Files): Promise<readonly (readonly [string, string])[]> =>
    (await verifyJournal(memoryView(files))).findings.map(({ code, path }) => [code, path] as const);

  it('is as it was', async () => {
    expect(await faults((await chain()).jobs())).toEqual([]);
  });

  it.each([
    ['never submitted', ['outcome.json']],
    ['is not there', ['order.json', 'receipt.json', '0001', '0001.end', 'worker.json', 'outcome.json']],
  ])('whose parent %s is found out', async (_what, entries) => {
    const { parent, child, jobs } = await chain();
    const files = jobs();
    for (const entry of entries) expect(files.delete(`${parent}/${entry}`)).toBe(true);
    expect(await faults(files)).toContainEqual(['job_invalid', `${child}/0001`]);
  });

  it('that another person authorized is found out', async () => {
    const { child, jobs } = await chain();
    const files = jobs();
    const stored = receiptFromBytes(files.get(`${child}/receipt.json`) as Uint8Array);
    const { claims } = launchUnder(stored.token, stored.key);
    const key = findKey(KEYS, 'key-bob') as ReviewerKey;
    const forged = { ...stored, token: signReceipt(claims, signer('bob')), key };
    files.set(`${child}/receipt.json`, encoder.encode(receiptToText(forged)));
    expect(await faults(files)).toContainEqual(['job_invalid', `${child}/receipt.json`]);
  });
});

describe('a damaged journal', () => {
  it.each(Object.keys(DAMAGES))('with %s is found out', async (name) => {
    const [story, entry, code, damage] = DAMAGES[name] as Damage;
    const files: Files = new Map(journal);
    damage(files);
    const report = await verifyJournal(memoryView(files));
    expect(report.ok).toBe(false);
    const found = report.findings.map((finding) => [finding.code, finding.path]);
    const place = entry === '' ? expect.stringMatching(/\/jobs\//) : at(story, entry);
    expect(found).toContainEqual([code, place as string]);
    for (const { message } of report.findings) expect(message).not.toMatch(/person:|own_|no_budget|eyJ|sha256:/);
  });

  it('without the claim of a receipt, or with another, is found out', async () => {
    for (const name of ['submitted', 'running', 'unknown'] as const) {
      const path = claimOf(name);
      const without: Files = new Map(journal);
      expect(without.delete(path)).toBe(true);
      const changed: Files = new Map(journal).set(path, encoder.encode(text(journal.get(path)).replace(DIGEST, OTHER)));
      for (const files of [without, changed]) {
        const { findings } = await verifyJournal(memoryView(files));
        expect(findings.map(({ code, path: found }) => [code, found])).toEqual([['claim_invalid', path]]);
      }
    }
  });
});

describe('what is gone without a trace', () => {
  it('is the outcome, or the whole job, and no other entry', async () => {
    const untraced: string[] = [];
    for (const path of journal.keys()) {
      if (!path.includes('/jobs/')) continue;
      const files: Files = new Map(journal);
      files.delete(path);
      if ((await verifyJournal(memoryView(files), { strict: true })).ok) untraced.push(path);
    }
    const expected = [
      ...NAMES.filter((name) => STORIES[name].length > 1 || name === 'expired').map((name) => at(name, 'outcome.json')),
      ...(['running', 'submitted', 'exited'] as const).map((name) => at(name, '0001.end')),
      // Its launch threw: whether the pass was written before or never, no later entry says.
      at('unknown', 'worker.json'),
      // Of a job that ended before anything was launched: an end of that kind was once written without it.
      at('expired', '0001'),
    ];
    expect(untraced.sort()).toEqual(expected.sort());
  });
});

/** Times, random owners, who a key was said to be, digests of what is not in the journal, and the order of a closed slot. */
const FREE = /^(received_at|opened_at|deadline_ms|settle_ms|owner|person|roles|submission|credential_digest|digest)$/;

describe('a changed byte', () => {
  it('is found, or stands in a free field', async () => {
    const chance = new Chance(20_261_130);
    for (const path of journal.keys()) {
      if (!path.includes('/jobs/')) continue;
      const near = [...journal].filter(([one]) => !one.includes('/jobs/') || one.startsWith(path.slice(0, 36)));
      for (let times = 0; times < 16; times += 1) {
        const bytes = Uint8Array.from(journal.get(path) as Uint8Array);
        const index = chance.below(bytes.length);
        bytes[index] = (bytes[index] as number) ^ (1 + chance.below(127));
        const report = await verifyJournal(memoryView(new Map([...near, [path, bytes]])), { strict: true });
        if (report.ok) expect(differing(text(journal.get(path)), text(bytes)), path).toMatch(FREE);
      }
    }
  });
});

/** The innermost field in which two records differ. */
function differing(one: string, other: string): string {
  const walk = (left: unknown, right: unknown, field: string): string => {
    if (typeof left !== 'object' || left === null || typeof right !== 'object' || right === null) return field;
    for (const name of Object.keys(left)) {
      const [a, b] = [(left as Record<string, unknown>)[name], (right as Record<string, unknown>)[name]];
      if (canonicalJson(a as never) !== canonicalJson((b ?? null) as never)) {
        return walk(a, b, /^\d+$/.test(name) ? field : name);
      }
    }
    return field;
  };
  return walk(JSON.parse(one), JSON.parse(other), '');
}
