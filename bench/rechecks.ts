/**
 * How long deriving obligations and reading histories takes: `npx tsx bench/rechecks.ts [receipts] [records] [--place]`.
 *
 * Everything is made and read in this process; the histories are written and read as one stream, and only what the reader keeps stays.
 * With `--place` they are imported from a file into a store on disk as well.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileStore } from '../src/adapters/stores';
import { findKey, jwksFromBytes, type KnownKey } from '../src/rules/receipts/jwks';
import { signReceipt } from '../src/rules/receipts/jws';
import { makeSigningKey, publicEntry } from '../src/rules/receipts/signing-key';
import { sha256Digest, sha256Hex } from '../src/rules/recovery';
import { launchOf, plannedJobs } from '../src/rules/verification/chain';
import { lifecycleDigest, type LifecycleEvent } from '../src/rules/verification/lifecycle-record';
import { LifecycleReader, LifecycleWriter } from '../src/rules/verification/lifecycle-stream';
import { deriveObligations, type VerificationReceipt } from '../src/rules/verification/obligations';
import { resultDigest } from '../src/rules/verification/results';
import { runDigest, runIdOf, type VerificationRun } from '../src/rules/verification/run';
import { recheckIntentId } from '../src/rules/verification/sitting';
import { importLifecycle } from '../src/transfer/lifecycle-import';
import { askedFor } from './arguments';

const { has, counts } = askedFor({ flags: ['place'], counts: { receipts: 10_000, records: 100_000 } });
const { receipts: receiptCount, records: recordCount } = counts;
const folder = has('place') ? mkdtempSync(path.join(os.tmpdir(), 'bench-rechecks-')) : null;
const file = folder === null ? null : path.join(folder, 'histories.jsonl');
const out = file === null ? null : openSync(file, 'wx');
const id = (prefix: string, text: string): string => `${prefix}_${sha256Hex(text).slice(0, 32)}`;
const person = sha256Digest('person');
const configurationSha256 = sha256Digest('configuration');

function runNumber(number: number, more: Partial<VerificationRun> = {}): VerificationRun {
  return {
    kind: 'verify',
    snapshot: {
      captureId: id('cap', `${more.kind ?? 'verify'} ${number}`),
      contentDigest: sha256Digest('content'),
      targetDigest: sha256Digest(`target ${number}`),
      selector: { source: sha256Digest('source'), kind: 'part', reference: sha256Digest(`reference ${number}`) },
      contextBoundary: 'whole_context',
    },
    plan: { checks: [{ criterion: 'c', check: 'k', binding: 'local', configurationSha256 }] },
    executors: { checks: [{ mode: 'in_process', binding: 'local' }], coordinator: null },
    input: { goalDigest: sha256Digest('goal'), protectedIntentDigest: null, recheck: null },
    ...more,
  };
}

/** Nine receipts a sitting: a run and its result, a proposal, the sitting, and every other one checked again. */
function receiptsOf(count: number): VerificationReceipt[] {
  const receipts: VerificationReceipt[] = [];
  const add = (run: VerificationRun, capturedAt: number): readonly [string, string] => {
    const digest = runDigest(run);
    const check = run.plan.checks[0] as VerificationRun['plan']['checks'][0];
    const result = { runId: runIdOf(digest), check, outcome: 'conforms' as const, jobId: null, submission: null };
    receipts.push({ kind: 'run', digest, run, person, capturedAt });
    receipts.push({ kind: 'result', digest: resultDigest(result), runDigest: digest, result });
    return [digest, resultDigest(result)];
  };
  for (let number = 0; receipts.length < count; number += 1) {
    const [sourceRun, before] = add(runNumber(number), 1);
    const proposals = [id('prop', String(number))] as const;
    const sittingId = id('sit', String(number));
    receipts.push({ kind: 'relation', relation: { kind: 'addresses', from: before, to: proposals[0] } });
    receipts.push({ kind: 'sitting', sitting: { sittingId, person, committedAt: 2, proposals } });
    if (number % 2 === 0) continue;
    const intentId = recheckIntentId({ sittingId, sourceRun, proposals });
    const { snapshot, input } = runNumber(number);
    const recheck = { intentId, sourceRun, proposals, affirmation: null };
    const again = { ...snapshot, captureId: id('cap', `recheck ${number}`) };
    const [, after] = add(runNumber(number, { kind: 'recheck', snapshot: again, input: { ...input, recheck } }), 3);
    for (const to of [proposals[0], before])
      receipts.push({ kind: 'relation', relation: { kind: 'rechecks', from: after, to } });
  }
  return receipts;
}

const receipts = receiptsOf(receiptCount);
const times = Array.from({ length: 15 }, () => {
  const started = performance.now();
  deriveObligations(receipts);
  return performance.now() - started;
}).sort((a, b) => a - b);
const states = deriveObligations(receipts).filter(({ state }) => state === 'fulfilled').length;
console.log(
  `deriveObligations over ${receipts.length} receipts: median ${(times[7] as number).toFixed(1)} ms, ` +
    `first and slowest ${(times[14] as number).toFixed(1)} ms (${states} fulfilled)`,
);

const signer = makeSigningKey(new Uint8Array(32).fill(7), 'person:example.org/bench', ['role:example.org/approver']);
const keys = jwksFromBytes(JSON.stringify({ keys: [publicEntry(signer)] }));
const key = findKey(keys, signer.kid) as KnownKey;
const journalId = `jrn_${'0'.repeat(32)}`;

/** One specialist and the coordinator; 18 records a run, two of them receipts that are signed. */
function* history(number: number): Generator<LifecycleEvent> {
  const launched = {
    mode: 'launched',
    provider: 'p',
    model: 'm',
    contentBoundary: 'captured_target_only',
    costCeiling: 1,
  } as const;
  const checks = [{ criterion: 'c', check: 'k', binding: 'model', configurationSha256 }];
  const executors = { checks: [{ ...launched, binding: 'model' }], coordinator: { ...launched, binding: 'all' } };
  const run = runNumber(number, { plan: { checks }, executors });
  const runId = runIdOf(runDigest(run));
  yield { type: 'run_opened', run, person: key.person, capturedAt: 1 };
  const chain = plannedJobs(run);
  for (const [index, planned] of chain.entries()) {
    const { jobId, role, parent, stage, assignment } = planned;
    const contextDigest = sha256Digest(jobId);
    const submission = { jobId, contextDigest, outputDigest: contextDigest };
    if (index === 0) yield { type: 'job_prepared', jobId, role, parent, stage, assignment, contextDigest };
    const fixed = { retryLimit: 0, authorizer: 'human', role: 'role:example.org/approver', iat: 1, exp: 2 } as const;
    const of = { kind: 'launch', journalId, jti: `nonce_${'0'.repeat(32)}` } as const;
    const token = signReceipt({ ...of, ...launchOf(run, planned, contextDigest), ...fixed }, signer);
    const { kid, x, person, roles } = key;
    yield { type: 'job_authorized', jobId, token, key: { kid, x, person, roles } };
    yield { type: 'job_moved', jobId, from: 'prepared', to: 'launching', reason: null, refusal: null };
    yield { type: 'job_moved', jobId, from: 'launching', to: 'running', reason: null, refusal: null };
    yield { type: 'job_submitted', from: 'running', submission };
    const results: string[] = [];
    if (assignment !== null) {
      const { sequence: _sequence, total: _total, ...check } = assignment;
      const digest = sha256Digest(
        `{"context_digest":"${contextDigest}","domain":"countersign.submission.v1","job_id":"${jobId}","output_digest":"${contextDigest}"}`,
      );
      const result = { runId, check, outcome: 'conforms' as const, jobId, submission: digest };
      results.push(resultDigest(result));
      yield { type: 'result_committed', result };
    }
    const next = chain[index + 1];
    if (next !== undefined) {
      const { jobId, role, parent, stage, assignment } = next;
      yield { type: 'job_prepared', jobId, role, parent, stage, assignment, contextDigest: sha256Digest(jobId) };
    }
    yield { type: 'job_completed', jobId, results, next: next?.jobId ?? null };
  }
  yield { type: 'run_closed', outcome: 'completed' };
}

const writer = new LifecycleWriter(journalId);
const reader = new LifecycleReader({ keys });
let records = 0;
let current = '';
let reading = 0;
const take = (line: string): void => {
  if (out !== null) writeSync(out, `${line}\n`);
  const started = performance.now();
  reader.take(line);
  reading += performance.now() - started;
};
const heap = (): number => {
  global.gc?.();
  return process.memoryUsage().heapUsed / 1024 / 1024;
};
take(writer.header());
for (let number = 0; records < recordCount; number += 1) {
  let [sequence, previous] = [0, null as string | null];
  for (const event of history(number)) {
    const record = { sequence: (sequence += 1), previous, event };
    const whole = event.type === 'run_opened' ? runIdOf(runDigest(event.run)) : null;
    const named = { ...record, runId: whole ?? current };
    if (whole !== null) current = whole;
    previous = lifecycleDigest(named);
    take(writer.record(named));
    records += 1;
    if (records % Math.floor(recordCount / 4) === 0) {
      console.log(`${records} records read in ${(reading / 1000).toFixed(1)} s, heap ${heap().toFixed(1)} MiB`);
    }
  }
}
take(writer.closing());
console.log(
  `${reader.finish().runs} runs, ${records} records: ${Math.round((records * 1000) / reading)} records/s with every signature checked`,
);

async function place(folder: string, file: string): Promise<void> {
  const started = performance.now();
  const heaps: number[] = [];
  const sampling = setInterval(() => heaps.push(heap()), 1_000);
  const { placed } = await importLifecycle(fileStore(path.join(folder, 'journal'), { createRoot: true }), file, {
    keys,
  });
  clearInterval(sampling);
  const third = Math.ceil(heaps.length / 3);
  const most = [0, 1, 2].map((part) => Math.max(0, ...heaps.slice(part * third, (part + 1) * third)).toFixed(1));
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(
    `${placed} records judged and placed on disk in ${seconds} s; most heap in each third: ${most.join(', ')} MiB`,
  );
}

async function placed(): Promise<void> {
  if (folder === null || file === null || out === null) return;
  closeSync(out);
  try {
    await place(folder, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

void placed();
