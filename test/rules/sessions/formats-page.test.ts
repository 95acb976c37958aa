/**
 * The page of the formats of sessions, beside the rules that read and write them.
 *
 * Held here:
 * - each record beside the log has exactly the fields that its row names, and its version; what is read of it is what was written;
 * - the body of each event has no field that its row does not name;
 * - the codes of a call that was never sent, the classes, and the codes of a failed session are those of the page, and no others.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventToBody, type SessionEvent } from '../../../src/rules/invocations/session-event';
import {
  GIVE_UP_CODES,
  SESSION_EVENTS,
  SESSION_FAILURES,
  SIDE_EFFECT_CLASSES,
  UNKNOWN_CODES,
  type SessionEventType,
} from '../../../src/rules/invocations/vocabulary';
import {
  DEFINITION_SCHEMA_VERSION,
  definitionFromBytes,
  definitionToText,
} from '../../../src/rules/sessions/definition-record';
import { DEMAND_SCHEMA_VERSION, demandFromBytes, demandToText } from '../../../src/rules/sessions/demand-record';
import { ROUND_SCHEMA_VERSION, roundFromBytes, roundToText } from '../../../src/rules/sessions/round-record';
import {
  answer,
  completed,
  decided,
  dispatched,
  question,
  queued,
  requested,
  started,
  user,
  vote,
} from '../invocations/story';
import { T0, callId, digest } from '../invocations/support';

const PAGE = readFileSync('docs/session-formats.md', 'utf8');
type Dict = Readonly<Record<string, unknown>>;

/** The second cell of the row that begins with this. */
function rowOf(first: string): string {
  const rows = PAGE.split('\n').filter((line) => line.startsWith('|'));
  const cells = rows.map((line) => line.split('|').map((cell) => cell.trim()));
  const found = cells.filter(([, cell = '']) => cell === first || cell.split(', ').includes(first));
  expect(found, first).toHaveLength(1);
  return found[0]?.[2] ?? '';
}

/** The names in the first braces of a cell. */
function namedIn(cell: string): readonly string[] {
  return (/`\{([a-z_, ]+)\}`/.exec(cell)?.[1] ?? '').split(', ').sort();
}

const read = (text: string): Dict => JSON.parse(text) as Dict;
const listOf = (record: Dict, field: string): readonly Dict[] => record[field] as readonly Dict[];
const namesOf = (record: Dict | undefined): readonly string[] => Object.keys(record ?? {}).sort();

const definition = {
  ...{
    session: 's1',
    agentVersion: 'v1',
    model: 'scripted',
    instructions: digest('be kind'),
    requester: digest('ann'),
  },
  tools: [{ tool: 'charge', version: '1.0.0', sideEffect: 'irreversible_action' as const }],
};
const round = {
  ...{ session: 's1', turn: 1, round: 1, message: digest('m'), text: digest('t'), stop: 'end_turn', model: 'scripted' },
  calls: [{ tool: 'charge', argsDigest: digest('args') }],
  usage: { input: 1, output: 2 },
};
const rule = {
  ...{ approvals: 2, roles: ['role:example.org/finance'], signedRequest: true, expiresAt: T0 },
  deadline: { afterMs: 10, then: 'deny' as const },
};
const demand = {
  ...{ runId: `run_${'0'.repeat(32)}`, planDigest: digest('plan'), sideEffect: 'irreversible_action' as const },
  ...{ rules: [rule], review: [rule] },
};

test('records beside the log', () => {
  const texts = [definitionToText(definition), roundToText(round), demandToText(demand)] as const;
  expect(definitionFromBytes(texts[0])).toEqual(definition);
  expect(roundFromBytes(texts[1])).toEqual(round);
  expect(demandFromBytes(texts[2])).toEqual(demand);
  const [one, two, three] = texts.map(read) as [Dict, Dict, Dict];
  const rules = listOf(three, 'rules')[0];
  const rows: readonly (readonly [row: string, record: Dict | undefined, version?: string])[] = [
    ["`<session's run>/definition.json`", one, DEFINITION_SCHEMA_VERSION],
    ['one of `tools`', listOf(one, 'tools')[0]],
    ["`<session's run>/rounds/<turn>-<round>.json`", two, ROUND_SCHEMA_VERSION],
    ['one of `calls`', listOf(two, 'calls')[0]],
    ["`<call's run>/demands/%04d.json`", three, DEMAND_SCHEMA_VERSION],
    ['one of `rules` or `review`', rules],
    ['a `deadline`', rules?.['deadline'] as Dict],
  ];
  for (const [row, record, version] of rows) {
    const cell = rowOf(row);
    expect(namedIn(cell), row).toEqual(namesOf(record));
    if (version !== undefined) expect(cell).toContain(`\`${version}\``);
  }
});

const ASKED = question(callId(0), T0);
const EVENTS: { readonly [T in SessionEventType]: SessionEvent } = {
  'session.started': started(),
  'session.completed': { type: 'session.completed' },
  'session.cancelled': { type: 'session.cancelled' },
  'session.failed': { type: 'session.failed', code: 'limit:tokens' },
  'message.user': user(1),
  'message.assistant': answer(1, 1, ['charge']),
  'tool.requested': requested(0),
  'tool.queued': queued(callId(0), T0),
  'tool.dispatched': dispatched(callId(0), T0),
  'tool.completed': completed(callId(0), T0),
  'tool.indeterminate': { type: 'tool.indeterminate', callId: callId(0), code: UNKNOWN_CODES[0], exhausted: false },
  'tool.policy_denied': { type: 'tool.policy_denied', callId: callId(0), rule: 'over-100' },
  'approval.required': { type: 'approval.required', approval: ASKED },
  'approval.vote': vote(ASKED, 'ann'),
  'approval.decided': decided(ASKED),
  'approval.escalated': { type: 'approval.escalated', approvalId: ASKED.approvalId, next: ASKED.approvalId },
  'approval.expired': { type: 'approval.expired', approvalId: ASKED.approvalId },
};

test.each(SESSION_EVENTS)('the body of %s', (type) => {
  expect(EVENTS[type].type).toBe(type);
  const cell = rowOf(`\`${type}\``);
  const told = new Set(cell.match(/[a-z_]+/g));
  const body = eventToBody(EVENTS[type]);
  const within = Object.values(body).flatMap((value) => {
    const inner: unknown = Array.isArray(value) ? value[0] : value;
    return typeof inner === 'object' && inner !== null ? Object.keys(inner) : [];
  });
  expect([...Object.keys(body), ...within].filter((name) => !told.has(name))).toEqual([]);
});

test('words', () => {
  const unsent = /With ground `unsent` it is one of\n([^]*?)\.\n/.exec(PAGE)?.[1] ?? '';
  expect([...unsent.matchAll(/`([a-z_:]+)`/g)].map(([, code]) => code).sort()).toEqual([...GIVE_UP_CODES].sort());
  const classes = /Classes are ([^.]*)\./.exec(PAGE)?.[1] ?? '';
  expect([...classes.matchAll(/`([a-z_]+)`/g)].map(([, word]) => word)).toEqual(SIDE_EFFECT_CLASSES);
  const failures = [...rowOf('`session.failed`').matchAll(/`([a-z_]+:[a-z_]+)`/g)].map(([, code]) => code);
  expect(failures).toEqual(SESSION_FAILURES);
});
