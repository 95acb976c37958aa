/**
 * Requests of the governed workflow commands.
 *
 * Held here:
 * - a good request reads as what it says, in any order of fields, with null or a digest as the expected state;
 * - each fault is `input_invalid`, each excess of size, depth or values `input_limit`, at its exact border;
 * - of 100,000 damaged requests from a fixed seed each is read or answered with a `GovernedError` of these two codes; what is
 *   accepted holds exactly the values of the good one or well-formed others, and no message quotes a value.
 */
import { describe, expect, it } from 'vitest';
import { MAX_INPUT_BYTES, workflowRequestFromBytes, type WorkflowRequest } from '../../../src/rules/governed/request';
import { GovernedError } from '../../../src/rules/governed/vocabulary';
import { isDigest, isGovernedId, isRunId } from '../../../src/rules/recovery';
import { Chance, damaged, type Json } from '../../support/damage';

const GOOD = {
  schema_version: 'openmed.cli.workflow_request.v1',
  run_id: `run_${'5'.repeat(32)}`,
  workflow_id: 'workflow:example.org/discharge@1.0.0',
  action_digest: `sha256:${'a'.repeat(64)}`,
  expected_state_digest: `sha256:${'b'.repeat(64)}`,
} as const;

const read = (value: unknown): WorkflowRequest => workflowRequestFromBytes(Buffer.from(JSON.stringify(value)));
const code = (text: string | Uint8Array): string => {
  try {
    workflowRequestFromBytes(typeof text === 'string' ? Buffer.from(text) : text);
    return 'read';
  } catch (fault) {
    if (fault instanceof GovernedError) return fault.code;
    throw fault;
  }
};
const codeOf = (value: unknown): string => code(JSON.stringify(value));

describe('a good request', () => {
  const wanted: WorkflowRequest = {
    runId: GOOD.run_id,
    workflowId: GOOD.workflow_id,
    actionDigest: GOOD.action_digest,
    expectedStateDigest: GOOD.expected_state_digest,
  };
  it('reads as what it says', () => {
    expect(read(GOOD)).toEqual(wanted);
    expect(read(Object.fromEntries(Object.entries(GOOD).reverse()))).toEqual(wanted);
    expect(read({ ...GOOD, expected_state_digest: null })).toEqual({ ...wanted, expectedStateDigest: null });
  });
});

describe('refused is', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['nothing', ''],
    ['no JSON', '{"schema_version"'],
    ['two documents', `${JSON.stringify(GOOD)}{}`],
    ['a list', JSON.stringify([GOOD])],
    ['null', 'null'],
    ['a byte order mark', `\ufeff${JSON.stringify(GOOD)}`],
    ['a field twice', JSON.stringify(GOOD).replace('{', '{"run_id":null,')],
    ['a field twice, escaped', JSON.stringify(GOOD).replace('{', '{"run\\u005fid":null,')],
    ['a field more', JSON.stringify({ ...GOOD, note: 'x' })],
    ['a prototype', JSON.stringify(GOOD).replace('{', '{"__proto__":{},')],
    ['NaN', JSON.stringify(GOOD).replace(/"sha256:b+"/, 'NaN')],
    ['Infinity', JSON.stringify(GOOD).replace(/"sha256:b+"/, 'Infinity')],
    ['an infinite exponent', JSON.stringify(GOOD).replace(/"sha256:b+"/, '1e400')],
    ...Object.keys(GOOD).map((name) => {
      return [`no ${name}`, JSON.stringify({ ...GOOD, [name]: undefined })] as const;
    }),
    ...Object.entries(GOOD).flatMap(([name, value]) =>
      ['', 7, true, [], {}, `${value} `, value.toUpperCase(), `${value}0`].map((wrong) => {
        return [`${name} ${JSON.stringify(wrong).slice(0, 20)}`, JSON.stringify({ ...GOOD, [name]: wrong })] as const;
      }),
    ),
    ['a workflow id of another kind', JSON.stringify({ ...GOOD, workflow_id: 'tool:example.org/discharge' })],
    ['null as the action', JSON.stringify({ ...GOOD, action_digest: null })],
  ];
  it.each(rows)('%s', (_what, text) => {
    expect(code(text)).toBe('input_invalid');
  });

  it('UTF-16, and broken UTF-8', () => {
    expect(code(Buffer.from(JSON.stringify(GOOD), 'utf16le'))).toBe('input_invalid');
    expect(code(Buffer.concat([Buffer.from('"'), Buffer.from([0xff]), Buffer.from('"')]))).toBe('input_invalid');
  });
});

describe('a limit', () => {
  const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  it.each([
    ['depth 8', nested(8), 'input_invalid'],
    ['depth 9', nested(9), 'input_limit'],
    ['256 values', JSON.stringify(Array.from({ length: 255 }, () => 0)), 'input_invalid'],
    ['257 values', JSON.stringify(Array.from({ length: 256 }, () => 0)), 'input_limit'],
    [
      '257 values in all',
      JSON.stringify({ a: Array.from({ length: 128 }, () => []), b: Array(126).fill({}) }),
      'input_limit',
    ],
  ])('is exact: %s', (_what, text, wanted) => expect(code(text)).toBe(wanted));

  it('of 64 KiB counts white space', () => {
    const text = JSON.stringify(GOOD);
    expect(code(text + ' '.repeat(MAX_INPUT_BYTES - text.length))).toBe('read');
    expect(code(text + ' '.repeat(MAX_INPUT_BYTES - text.length + 1))).toBe('input_limit');
    expect(codeOf({ ...GOOD, run_id: 'x'.repeat(MAX_INPUT_BYTES) })).toBe('input_limit');
  });
});

it('answers every damaged request', { timeout: 300_000 }, () => {
  const chance = new Chance(31);
  const answers = new Map<string, number>();
  for (let round = 0; round < 100_000; round += 1) {
    const bytes = damaged(chance, GOOD as Json);
    let answer = 'read';
    try {
      const { runId, workflowId, actionDigest, expectedStateDigest } = workflowRequestFromBytes(bytes);
      const fits = isRunId(runId) && isGovernedId(workflowId, 'workflow') && isDigest(actionDigest);
      if (!fits || (expectedStateDigest !== null && !isDigest(expectedStateDigest))) throw new Error('reads badly');
    } catch (fault) {
      if (!(fault instanceof GovernedError)) throw fault;
      if (fault.code !== 'input_invalid' && fault.code !== 'input_limit') throw fault;
      if (/a{20}|b{20}|5{20}|discharge@/.test(fault.message)) throw new Error('a message quotes a value');
      answer = fault.message;
    }
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
  }
  expect(answers.get('read')).toBeGreaterThan(1_000);
  expect(answers.size).toBeGreaterThan(20);
});
