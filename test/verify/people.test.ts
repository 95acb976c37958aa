/**
 * A journal in which people decided, and what can be done to what they said.
 *
 * Held here:
 * - a journal with approvals, a rejection, an ended plan, a person's word and a second lineage verifies strictly, whole and run by run;
 * - a receipt, claim, approval record, resolution or opening that is gone, changed or swapped is found, at its place;
 * - a step that says more of people than the receipts do is found, however well it is written;
 * - a changed byte in any of these files is found, but for a few free fields that nothing rests on.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson, isRunId, sha256Hex } from '../../src/rules/recovery';
import { witnessFromBytes, witnessToText, type Witness } from '../../src/rules/sends/witness';
import { verifyJournal, type FindingCode } from '../../src/verify';
import { People } from '../activities/people';
import { approvalOf, rejectionOf, resolutionOf } from '../support/reviewers';
import { Chance } from '../support/damage';
import { memoryView } from './memory-view';

type Files = Map<string, Uint8Array>;
const encoder = new TextEncoder();
const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

let journal: Files;
const runs: Record<'reopened' | 'denied' | 'ended' | 'marked', string> = {
  reopened: '',
  denied: '',
  ended: '',
  marked: '',
};

const reopened = async (people: People): Promise<void> => {
  await people.drive();
  const engine = people.engine({ at: (point) => void (point === 'answered' && people.pass(60_000)) });
  const approve = (who: string, livesS: number): string =>
    approvalOf(people.question(), who, { ...people.signed, livesS });
  await people.drive([approve('ann', 60), approve('bob', 60)], {}, engine);
  await people.drive([resolutionOf(people.question(), 'cleo', { ...people.signed, resolution: 'new_lineage' })]);
  await people.drive([approve('cleo', 3_600), approve('ann', 3_600)]);
};
const denied = async (people: People): Promise<void> => {
  await people.drive();
  const asked = people.question();
  await people.drive([approvalOf(asked, 'ann', people.signed)]);
  await people.carry([rejectionOf(asked, 'bob', people.signed)]);
};
const doubtful = async (people: People): Promise<void> => {
  people.bench.told.outcomes.push('throw');
  await people.carry();
};
const ended = async (people: People): Promise<void> => {
  await doubtful(people);
  await people.carry([resolutionOf(people.question(), 'bob', { ...people.signed, resolution: 'abort' })]);
};
const marked = async (people: People): Promise<void> => {
  await doubtful(people);
  const actionIds = people.question().doubtful;
  const word = { resolution: 'mark_committed', actionIds, externalId: 'row-9' } as const;
  await people.carry([resolutionOf(people.question(), 'ann', { ...people.signed, ...word })]);
};

beforeAll(async () => {
  journal = new Map();
  const stories = { reopened, denied, ended, marked };
  for (const [name, story] of Object.entries(stories) as [keyof typeof runs, (people: People) => Promise<void>][]) {
    const blind = name === 'ended' || name === 'marked';
    const people = new People({
      name,
      effects: [{}, {}],
      ...(blind ? { rule: null, sink: { lookup: 'none' as const } } : {}),
    });
    await story(people);
    expect(['completed', 'aborted']).toContain(people.chain.head?.phase);
    runs[name] = people.bench.plan.runId;
    for (const [path, bytes] of people.bench.store.entries) journal.set(path, bytes);
  }
});

/** Paths of the run, in order, that hold every part. */
const paths = (files: Files, run: keyof typeof runs, ...parts: readonly string[]): readonly string[] =>
  [...files.keys()].filter((path) => path.startsWith(runs[run]) && parts.every((part) => path.includes(part))).sort();
const only = (files: Files, run: keyof typeof runs, ...parts: readonly string[]): string => {
  const [path, more] = paths(files, run, ...parts);
  if (path === undefined || more !== undefined) throw new Error(`not one file: ${parts.join(' ')}`);
  return path;
};
const edit = (files: Files, path: string, from: string | RegExp, to: string): void => {
  const before = text(files.get(path));
  expect(before).toMatch(from);
  files.set(path, encoder.encode(before.replace(from, to)));
};
/** Puts another witness in the place of one, under its right name. */
const rewrite = (
  files: Files,
  run: keyof typeof runs,
  step: Witness['step'],
  change: (witness: Witness) => Witness,
): void => {
  const path = paths(files, run, '/witnesses/').find((name) =>
    text(files.get(name)).includes(`"step":"${step}"`),
  ) as string;
  const written = witnessToText(change(witnessFromBytes(files.get(path) as Uint8Array)));
  files.delete(path);
  files.set(path.replace(/[0-9a-f]{64}\.json$/, `${sha256Hex(written)}.json`), encoder.encode(written));
};
const receiptsThat = (files: Files, run: keyof typeof runs, says: string): readonly string[] =>
  paths(files, run, '/receipts/').filter((path) => {
    const payload = /"token":"[^.]+\.([^.]+)\./.exec(text(files.get(path)))?.[1] ?? '';
    return Buffer.from(payload, 'base64url').toString().includes(says);
  });

describe('a good journal', () => {
  it('verifies strictly, whole and run by run', async () => {
    expect(await verifyJournal(memoryView(journal), { strict: true })).toMatchObject({
      findings: [],
      ok: true,
      justified: true,
    });
    for (const runId of Object.values(runs)) {
      const run = new Map(
        [...journal].flatMap(([path, bytes]) =>
          path.startsWith(`${runId}/`) ? [[path.slice(runId.length + 1), bytes]] : [],
        ),
      );
      expect(await verifyJournal(memoryView(run), { strict: true })).toMatchObject({
        kind: 'run',
        findings: [],
        justified: true,
      });
    }
  });
});

const FORGERIES: Record<string, { readonly code: FindingCode; readonly at: string; readonly do: (files: Files) => void }> = {
  'a receipt that is gone': { code: 'decision_unfounded', at: '/lineage-', do: (files) => void files.delete(receiptsThat(files, 'reopened', '"approve"')[0] as string) },
  'an approval record that is gone': { code: 'decision_unfounded', at: '/lineage-', do: (files) => void files.delete(paths(files, 'reopened', '/receipts/approval-')[0] as string) },
  'an approval record that lasts longer': { code: 'approval_invalid', at: '/receipts/', do: (files) => edit(files, paths(files, 'reopened', '/receipts/approval-')[0] as string, /"expires_at":\d/, '"expires_at":9') },
  'an approval record in the place of another': {
    code: 'approval_invalid', at: '/receipts/',
    do: (files) => { const [one, two] = paths(files, 'reopened', '/receipts/approval-') as [string, string]; files.set(one, files.get(two) as Uint8Array); },
  },
  'a signature that is another': { code: 'receipt_invalid', at: '/receipts/', do: (files) => edit(files, receiptsThat(files, 'denied', '"reject"')[0] as string, /\.[A-Za-z0-9_-]{86}"/, `.${'A'.repeat(86)}"`) },
  'a key that did not sign': {
    code: 'receipt_invalid', at: '/receipts/',
    do: (files) => { const [one, two] = receiptsThat(files, 'reopened', '"approve"').map((path) => /"x":"([^"]+)"/.exec(text(files.get(path)))?.[1]); edit(files, receiptsThat(files, 'reopened', '"approve"')[0] as string, one as string, (one === two ? 'A'.repeat(43) : two) as string); },
  },
  'a receipt under another name': { code: 'receipt_invalid', at: '/receipts/', do: (files) => void files.set(`${runs.denied}/receipts/${'0'.repeat(64)}.json`, files.get(receiptsThat(files, 'denied', '"reject"')[0] as string) as Uint8Array) },
  'a receipt of another run': {
    code: 'receipt_invalid', at: '/receipts/',
    do: (files) => { const path = receiptsThat(files, 'reopened', '"approve"')[0] as string; files.set(path.replace(runs.reopened, runs.denied), files.get(path) as Uint8Array); },
  },
  'a claim that is gone': { code: 'claim_invalid', at: 'claims/', do: (files) => void files.delete([...files.keys()].find((path) => path.startsWith('claims/')) as string) },
  'a claim for another decision': { code: 'claim_invalid', at: 'claims/', do: (files) => edit(files, [...files.keys()].find((path) => path.startsWith('claims/')) as string, /sha256:[0-9a-f]{64}/, `sha256:${'0'.repeat(64)}`) },
  'a stranger among the claims': { code: 'claim_invalid', at: 'claims/x', do: (files) => void files.set('claims/x', encoder.encode('{}')) },
  'a weaker requirement than was met': {
    code: 'decision_unfounded', at: '/lineage-',
    do: (files) => rewrite(files, 'reopened', 'approved', (witness) => ({ ...witness, ground: { ...approvalIn(witness), requirement: { rules: [{ approvals: 1 }], requester: null } } })),
  },
  'a stronger requirement than was met': {
    code: 'decision_unfounded', at: '/lineage-',
    do: (files) => rewrite(files, 'reopened', 'approved', (witness) => ({ ...witness, ground: { ...approvalIn(witness), requirement: { rules: [{ approvals: 3 }], requester: null } } })),
  },
  'an approval that came too late': {
    code: 'decision_unfounded', at: '/lineage-',
    do: (files) => rewrite(files, 'reopened', 'approved', (witness) => ({ ...witness, now: approvalIn(witness).expiresAt })),
  },
  'a rejection that is an approval': {
    code: 'decision_unfounded', at: '/lineage-',
    do: (files) => { const receipt = `sha256:${/([0-9a-f]{64})\.json$/.exec(receiptsThat(files, 'denied', '"approve"')[0] as string)?.[1]}`; rewrite(files, 'denied', 'denied', (witness) => ({ ...witness, ground: { ...witness.ground, receipt } as never })); },
  },
  'a rejection by another key': {
    code: 'decision_unfounded', at: '/lineage-',
    do: (files) => rewrite(files, 'denied', 'denied', (witness) => ({ ...witness, ground: { ...witness.ground, key: `sha256:${'0'.repeat(64)}` } as never })),
  },
  'a deadline that nobody set': {
    code: 'decision_unfounded', at: '/lineage-',
    do: (files) => rewrite(files, 'denied', 'denied', (witness) => ({ ...witness, ground: { ...witness.ground, code: 'deadline', key: null, receipt: null } as never })),
  },
  'an ending that a person did not ask for': { code: 'decision_unfounded', at: '/lineage-', do: (files) => void files.delete(receiptsThat(files, 'ended', '"abort"')[0] as string) },
  'a word that nobody gave': { code: 'proof_contradicted', at: '/lineage-', do: (files) => void files.delete(only(files, 'marked', '/resolutions/')) },
  'a word about another effect': { code: 'resolution_invalid', at: '/resolutions/', do: (files) => edit(files, only(files, 'marked', '/resolutions/'), /act_[0-9a-f]{4}/, 'act_0000') },
  'another resolution than was signed': { code: 'resolution_invalid', at: '/resolutions/', do: (files) => edit(files, only(files, 'marked', '/resolutions/'), 'mark_committed', 'mark_absent') },
  'a lineage that nobody opened': { code: 'lineage_unopened', at: '/lineage-0002/', do: (files) => void files.delete(only(files, 'reopened', '/lineages/0002')) },
  'a lineage that leaves another checkpoint': { code: 'lineage_unopened', at: '/lineage-0002/', do: (files) => edit(files, only(files, 'reopened', '/lineages/0002'), /"sequence":\d+/, '"sequence":0') },
  'a lineage that was not asked for': {
    code: 'decision_unfounded', at: '/lineage-0002/',
    do: (files) => { const receipt = /([0-9a-f]{64})\.json$/.exec(receiptsThat(files, 'reopened', '"approve"')[0] as string)?.[1] as string; edit(files, only(files, 'reopened', '/lineages/0002'), /"receipt":"sha256:[0-9a-f]{64}"/, `"receipt":"sha256:${receipt}"`); },
  },
}; // prettier-ignore

function approvalIn({ ground }: Witness): Extract<Witness['ground'], { kind: 'approval' }> {
  if (ground?.kind !== 'approval') throw new Error('no approval');
  return ground;
}

describe('a forged journal', () => {
  it.each(Object.keys(FORGERIES))('with %s is found', async (name) => {
    const { code, at, do: forge } = FORGERIES[name] as (typeof FORGERIES)[string];
    const files: Files = new Map(journal);
    forge(files);
    const report = await verifyJournal(memoryView(files));
    expect(report.ok, name).toBe(false);
    expect(report.findings.map(({ code: found, path }) => [found, path])).toContainEqual([
      code,
      expect.stringContaining(at),
    ]);
    for (const { message } of report.findings) expect(message).not.toMatch(/person:|row-9|eyJ/);
  });
});

/** When and by whom something was stored, counted or opened: nothing rests on it. */
const FREE = /^(received_at|opened_at|owner|epoch|attempts|person|roles)$/;

describe('a changed byte', () => {
  it('in what people said is found, or stands in a free field', async () => {
    const chance = new Chance(20_261_130);
    const targets = [...journal.keys()].filter((path) => /\/(receipts|resolutions|lineages)\/|^claims\//.test(path));
    expect(targets.some((path) => isRunId(path.split('/')[0] as string))).toBe(true);
    for (const path of targets) {
      for (let times = 0; times < 12; times += 1) {
        const bytes = Uint8Array.from(journal.get(path) as Uint8Array);
        const at = chance.below(bytes.length);
        bytes[at] = (bytes[at] as number) ^ (1 + chance.below(127));
        const report = await verifyJournal(memoryView(new Map([...journal, [path, bytes]])), { strict: true });
        if (!report.ok) continue;
        expect(differing(text(journal.get(path)), text(bytes))).toMatch(FREE);
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
      if (canonicalJson(a as never) !== canonicalJson((b ?? null) as never))
        return walk(a, b, /^\d+$/.test(name) ? field : name);
    }
    return field;
  };
  return walk(JSON.parse(one), JSON.parse(other), '');
}
