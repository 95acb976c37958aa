/**
 * Plan files that are refused.
 *
 * Held here:
 * - each names the field and the rule, exits 2, and prints no value of the file, by `plan` and by `run` alike;
 * - nothing is stored, started or written for any of them: the folders are the same before and after;
 * - what is accepted is kept exactly: a number that JavaScript would change is refused, wherever it stands.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planFileFromBytes } from '../../src/cli/plan-file';
import { MAX_PLAN_BYTES, readPlanText } from '../../src/cli/plan-text';
import { answerOf, cli } from './support';

type Json = Record<string, unknown>;
const SECRET = 'synthetic-5a90';
const effect = { id: 'a', tool_id: 'tool:example.org/a@1.0.0', kind: 'local_tool', operation: { note: SECRET } };
const good: Json = { workflow_id: 'workflow:example.org/w', name: 'n', effects: [effect] };
const without = (name: string, from: Json = good): Json =>
  Object.fromEntries(Object.entries(from).filter(([key]) => key !== name));
const withEffect = (change: Json): Json => ({ ...good, effects: [{ ...effect, ...change }] });
/** The good draft as text, with the operation given literally. */
const operation = (text: string): string =>
  `{"workflow_id":"workflow:example.org/w","name":"n","effects":[{"id":"a","tool_id":"tool:example.org/a@1.0.0","kind":"local_tool","operation":${text}}]}`;
const plan = {
  schema_version: 'countersign.plan.v1',
  workflow_id: 'workflow:example.org/w',
  run_id: `run_${'0'.repeat(32)}`,
  order: 'ordered',
  origin: null,
  requester: null,
  effects: [
    {
      action_id: `act_${'1'.repeat(32)}`,
      tool_id: 'tool:example.org/a@1.0.0',
      kind: 'local_tool',
      operation_digest: `sha256:${'2'.repeat(64)}`,
      approval_required: false,
      compensation_limit: 'none',
    },
  ],
  plan_digest: `sha256:${'3'.repeat(64)}`,
};
const planEffect = (change: Json): Json => ({ ...plan, effects: [{ ...plan.effects[0], ...change }] });
const many = Array.from({ length: 3_000 }, (_, index) => ({ ...effect, id: `e${index}` }));
const long = 'x'.repeat(201);

/** What is in the file, the field that is named, and a piece of the rule that is stated. */
const ROWS: readonly (readonly [what: string, file: unknown, field: string, rule: RegExp])[] = [
  ['nothing', '', 'document', /not JSON/],
  ['no JSON', '{"workflow_id":', 'document', /not JSON/],
  ['trailing text', `${JSON.stringify(good)} x`, 'document', /not JSON/],
  ['a comment', `// plan\n${JSON.stringify(good)}`, 'document', /not JSON/],
  ['a trailing comma', '{"name":"n",}', 'document', /not JSON/],
  ['bytes that are no text', new Uint8Array([0x7b, 0xff, 0x7d]), 'document', /UTF-8/],
  ['an array', '[]', 'document', /must be an object/],
  ['a word', 'null', 'document', /must be an object/],
  ['a name twice', '{"name":"a","name":"b"}', 'document', /one field twice/],
  ['a name twice in an operation', operation('{"a":1,"a":2}'), 'document', /one field twice/],
  ['a name twice, spelled differently', operation('{"a":1,"\\u0061":2}'), 'document', /one field twice/],
  ['no workflow_id', without('workflow_id'), 'workflow_id', /missing/],
  ['a workflow_id that is a number', { ...good, workflow_id: 1 }, 'workflow_id', /governed id/],
  ['a workflow_id of another kind', { ...good, workflow_id: 'tool:example.org/w' }, 'workflow_id', /governed id/],
  ['a workflow_id without namespace', { ...good, workflow_id: 'workflow:w' }, 'workflow_id', /governed id/],
  ['no name', without('name'), 'name', /run_id/],
  ['an empty name', { ...good, name: '' }, 'name', /1 to 200 characters/],
  ['a long name', { ...good, name: long }, 'name', /1 to 200 characters/],
  ['a name with a line break', { ...good, name: 'a\nb' }, 'name', /1 to 200 characters/],
  ['a name that is a number', { ...good, name: 7 }, 'name', /1 to 200 characters/],
  ['name and run_id', { ...good, run_id: plan.run_id }, 'name', /exclude each other/],
  ['a bad run_id', { ...without('name'), run_id: 'run_1' }, 'run_id', /32 lowercase hex/],
  ['a run_id in capitals', { ...without('name'), run_id: `run_${'A'.repeat(32)}` }, 'run_id', /32 lowercase hex/],
  ['an unknown order', { ...good, order: 'parallel' }, 'order', /one of ordered, independent/],
  ['an unknown field', { ...good, approvals: 1 }, 'approvals', /not a field/],
  ['a field in camelCase', { ...without('workflow_id'), workflowId: 'x' }, 'workflow_id', /missing/],
  ['no effects', without('effects'), 'effects', /missing/],
  ['effects that are no list', { ...good, effects: {} }, 'effects', /list of 1 or more/],
  ['an empty list of effects', { ...good, effects: [] }, 'effects', /list of 1 or more/],
  ['an effect that is a word', { ...good, effects: ['a'] }, 'effects[0]', /must be an object/],
  ['an effect that is null', { ...good, effects: [effect, null] }, 'effects[1]', /must be an object/],
  ['an effect without id', { ...good, effects: [without('id', effect)] }, 'effects[0].id', /missing/],
  ['an effect with an empty id', withEffect({ id: '' }), 'effects[0].id', /1 to 200 characters/],
  ['an effect with a long id', withEffect({ id: long }), 'effects[0].id', /1 to 200 characters/],
  ['two effects of one id', { ...good, effects: [effect, effect] }, 'effects[1].id', /used twice/],
  ['an effect without tool_id', { ...good, effects: [without('tool_id', effect)] }, 'effects[0].tool_id', /missing/],
  ['a tool_id of another kind', withEffect({ tool_id: 'workflow:example.org/a' }), 'effects[0].tool_id', /governed id/],
  [
    'a tool_id with a bad version',
    withEffect({ tool_id: 'tool:example.org/a@01.0.0' }),
    'effects[0].tool_id',
    /governed/,
  ],
  ['an effect without kind', { ...good, effects: [without('kind', effect)] }, 'effects[0].kind', /missing/],
  ['an unknown kind', withEffect({ kind: 'email' }), 'effects[0].kind', /one of local_tool/],
  [
    'an effect without operation',
    { ...good, effects: [without('operation', effect)] },
    'effects[0].operation',
    /missing/,
  ],
  [
    'an approval_required that is a word',
    withEffect({ approval_required: 'yes' }),
    'effects[0].approval_required',
    /true or/,
  ],
  [
    'an unknown compensation',
    withEffect({ compensation_limit: 'all' }),
    'effects[0].compensation_limit',
    /one of none/,
  ],
  ['an unknown field of an effect', withEffect({ retries: 3 }), 'effects[0].retries', /not a field/],
  ['a prototype as a field', '{"__proto__":{},"name":"n"}', 'workflow_id', /missing/],
  ['a whole number that is too large', operation('9007199254740993'), 'effects[0].operation', /exactly \(line 1\)/],
  ['one deep inside', operation('{"b":[0,9007199254740993]}'), 'effects[0].operation.*[1]', /exactly/],
  ['a negative one', operation('[-9007199254740993]'), 'effects[0].operation[0]', /exactly/],
  ['too many decimals', operation('0.1234567890123456789'), 'effects[0].operation', /exactly/],
  ['an overflow', operation('1e400'), 'effects[0].operation', /exactly/],
  ['an underflow', operation('1e-400'), 'effects[0].operation', /exactly/],
  ['NaN', operation('{"a":NaN}'), 'effects[0].operation.*', /exactly/],
  ['Infinity', operation('Infinity'), 'effects[0].operation', /exactly/],
  ['minus Infinity', operation('\n-Infinity'), 'effects[0].operation', /exactly \(line 2\)/],
  ['a leading zero', operation('01'), 'document', /not JSON/],
  ['a hexadecimal number', operation('0x10'), 'document', /not JSON/],
  ['a number outside contents', '{"name":9007199254740993}', 'name', /exactly/],
  ['deep nesting', operation('['.repeat(250) + ']'.repeat(250)), 'effects[0].operation', /nested deeper than/],
  ['nesting beyond any reader', operation('['.repeat(5_000) + ']'.repeat(5_000)), 'document', /not JSON/],
  ['more effects than fit', { ...good, effects: many }, 'effects', /split the work/],
  [
    'a plan of another version',
    { ...plan, schema_version: 'countersign.plan.v2' },
    'schema_version',
    /countersign.plan.v1/,
  ],
  ['a plan without digest', without('plan_digest', plan), 'plan_digest', /missing/],
  ['a plan with a wrong digest', plan, 'plan_digest', /not the digest of this plan/],
  ['a plan with an unknown field', { ...plan, name: 'n' }, 'name', /not a field/],
  ['a plan with contents', planEffect({ operation: SECRET }), 'effects[0].operation', /not a field/],
  ['a plan with a bad action', planEffect({ action_id: 'act_1' }), 'effects[0].action_id', /32 lowercase hex/],
  ['a plan with a bad digest', planEffect({ operation_digest: 'sha256:1' }), 'effects[0].operation_digest', /sha256/],
  [
    'a plan with one action twice',
    { ...plan, effects: [plan.effects[0], plan.effects[0]] },
    'effects',
    /one action twice/,
  ],
  ['a plan with a bad requester', { ...plan, requester: 'me' }, 'requester', /sha256 digest or null/],
];

describe('a bad plan file', () => {
  let folder = '';
  beforeAll(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'countersign-cli-'));
    expect((await cli('journal', 'init', path.join(folder, 'journal'))).code).toBe(0);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const listing = (): readonly string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((name) => `${name} ${statSync(path.join(folder, name)).mtimeMs}`);

  it.each(ROWS)('with %s names field and rule, and changes nothing', async (_what, content, field, rule) => {
    const file = path.join(folder, 'bad.json');
    const bytes = content instanceof Uint8Array || typeof content === 'string' ? content : JSON.stringify(content);
    writeFileSync(file, bytes);
    const before = listing();
    for (const command of ['plan', 'run', 'preview']) {
      const ran = await cli(command, file, '--journal', path.join(folder, 'journal'), '--json');
      const { ok, error } = answerOf(ran);
      expect({ ok, code: ran.code, field: error?.field, err: ran.err }).toEqual({ ok: false, code: 2, field, err: '' });
      expect(error?.message).toMatch(rule);
      expect(ran.out).not.toContain(SECRET);
    }
    expect(listing()).toEqual(before);
  });

  it('that cannot be read is said to be so', async () => {
    for (const file of [path.join(folder, 'nowhere.json'), folder]) {
      expect(answerOf(await cli('plan', file, '--json')).error?.code).toBe('input_unreadable');
    }
  });

  it('that is too large is not even read', () => {
    expect(() => planFileFromBytes(new Uint8Array(MAX_PLAN_BYTES + 1))).toThrow(/larger than 16 MiB/);
  });
});

describe('a good plan file', () => {
  it('keeps every value exactly', () => {
    const text =
      '{"i":9007199254740991,"n":-0.5,"e":1.5e3,"t":0.10,"s":"9007199254740993 NaN 1e400","u":"\\u0000\\"","z":[[]],"__proto__":{"a":1},"1":null}';
    const value = readPlanText(Buffer.from(`\ufeff${text}`)) as Json;
    expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it('becomes the same plan however often it is made', async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'countersign-cli-'));
    const [file, out, journal] = ['draft.json', 'plan.json', 'journal'].map((name) => path.join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(file, JSON.stringify(good));
    await cli('journal', 'init', journal);
    expect((await cli('plan', file, '--journal', journal, '--out', out)).code).toBe(0);
    expect((await cli('plan', file, '--journal', journal, '--out', out)).code).toBe(0);
    const printed = await cli('plan', file, '--journal', journal);
    expect(printed.out).toBe(readFileSync(out, 'utf8'));
    expect(printed.out).not.toContain(SECRET);
    expect(answerOf(await cli('plan', out, '--journal', journal, '--json')).data).toMatchObject({
      contents: 'present',
    });
    expect(answerOf(await cli('plan', out, '--json')).data).toMatchObject({ contents: 'not_checked' });
    expect((await cli('plan', file, '--journal', journal, '--out', file)).code).toBe(6);
    expect((await cli('plan', out, '--out', out)).code).toBe(2);
    rmSync(path.join(folder, 'journal-contents/operations'), { recursive: true });
    expect(answerOf(await cli('plan', out, '--journal', journal, '--json')).error).toMatchObject({
      code: 'content_missing',
      field: 'effects[0]',
    });
    rmSync(folder, { recursive: true });
  });
});
