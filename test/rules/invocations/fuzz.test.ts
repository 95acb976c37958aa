/**
 * Every reader of tool sessions, fed with valid records that were damaged in their structure.
 *
 * Held here:
 * - whatever is read, a record of each type, a queue, or policies, it is accepted or refused with a code, and what is accepted has one
 *   text.
 */
import { describe, it, expect } from 'vitest';
import { queueFromRecord, queueToRecord } from '../../../src/rules/invocations/queue-snapshot';
import { judgeCall, judgeTrigger, policiesFromRecord } from '../../../src/rules/invocations/policy';
import { chained, recordFromBytes, recordToText } from '../../../src/rules/invocations/session-record';
import { SESSION_EVENTS } from '../../../src/rules/invocations/vocabulary';
import { canonicalJson, parseJson } from '../../../src/rules/recovery';
import { INPUTS, fuzz, type Reader } from '../damage';
import {
  answer,
  completed,
  decided,
  dispatched,
  queued,
  question,
  requested,
  started,
  unsent,
  user,
  vote,
} from './story';
import { CHARGE, T0, Told, callId, digest, request } from './support';

const approval = question(callId(0), T0, { onTimeout: { escalate: ['role:example.org/board'] } });
const limit = { ...approval, callId: null, argsDigest: null, limit: 'tokens', reason: 'limit:escalate' } as const;
const EVENTS = [
  started({ limits: { tokens: 5, rounds: null, wallClockMs: 7 } }),
  user(1),
  answer(1, 1, ['charge', 'nosuch']),
  requested(0),
  queued(callId(0), T0),
  dispatched(callId(0), T0),
  completed(callId(0), T0),
  unsent(callId(1), 'dispatch:no_handler', T0),
  { type: 'tool.indeterminate', callId: callId(0), code: 'dispatch:lease_expired', exhausted: true },
  { type: 'tool.policy_denied', callId: callId(0), rule: 'never' },
  { type: 'approval.required', approval },
  { type: 'approval.required', approval: limit },
  vote(approval, 'ann'),
  decided(approval),
  { type: 'approval.escalated', approvalId: approval.approvalId, next: approval.approvalId },
  { type: 'approval.expired', approvalId: approval.approvalId },
  { type: 'session.completed' },
  { type: 'session.failed', code: 'limit:tokens' },
  { type: 'session.cancelled' },
] as const;

/** Under its own digest, and canonical, so that only what the record says can be wrong with it. */
function sealed(text: string): string {
  const record = JSON.parse(text) as unknown;
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return text;
  const { digest: _old, ...rest } = record as Record<string, unknown>;
  return canonicalJson({ ...rest, digest: digest(canonicalJson(rest)) });
}

const queue = new Told();
queue.start('a', 1);
for (const index of [0, 1, 2]) queue.enqueue(request(index));
queue.settle(0);
queue.tell({ type: 'drain' });
queue.tell({ type: 'bounced', callId: callId(1) });
queue.tell({ type: 'withdraw', callId: callId(5), replyTo: 'x' });

const POLICIES = [
  {
    name: 'one',
    scope: 'tool',
    allow: ['charge@1.0.0', 'refund'],
    conditions: { any: [{ field: 'amount', op: 'gt', value: 5 }] },
    decision: 'deny',
  },
  {
    name: 'two',
    scope: 'agent',
    conditions: {
      all: [
        { not: { field: 'kind', op: 'in', value: ['a', 5] } },
        { field: 'name', op: 'matches', value: '^[a-z]+(x|y){2}$' },
      ],
    },
    decision: 'require_approval',
    route: 'role:example.org/finance',
    approvals: 2,
    expiry_ms: 5,
    on_timeout: { escalate: ['role:example.org/board'] },
    on_rejection: 'fail',
  },
  {
    name: 'three',
    scope: 'agent',
    conditions: { field: 'dispatch.trigger', op: 'eq', value: 'limit:escalate' },
    decision: 'escalate',
  },
];

const RECORDS = chained(
  's1',
  null,
  EVENTS.map((event) => ({ at: T0, event })),
).map(({ record, text }, index): Reader => ({
  name: `record ${index + 1}, ${record.event.type}`,
  valid: JSON.parse(text) as unknown,
  trip: (damaged) => recordToText(recordFromBytes(sealed(damaged))),
}));
const READERS: readonly Reader[] = [
  {
    name: 'queue',
    valid: JSON.parse(JSON.stringify(queueToRecord(queue.state))) as unknown,
    trip: (text) => canonicalJson(queueToRecord(queueFromRecord(parseJson(text, 'queue')))),
  },
  {
    name: 'list of policies',
    valid: POLICIES,
    trip: (_text, value) => {
      const policies = policiesFromRecord(value);
      const args = { amount: 7, kind: 'b', name: 'abcxy' };
      const call = judgeCall(policies, { tool: CHARGE, args });
      return (
        call.decision + judgeTrigger(policies, { tool: null, args, trigger: 'limit:escalate', outcome: null }).decision
      );
    },
  },
];
const WORDS = [
  digest('0'),
  callId(0),
  callId(3),
  'charge',
  'default',
  '1.0.0',
  'deny',
  'allow',
  'tool.queued',
  'policy',
  'tokens',
  '(a+',
  'dispatch.trigger',
];

// There are many types, and what they share is damaged in each of them.
describe.each(RECORDS)('the reader of a $name', (reader) => fuzz(reader, WORDS, Math.ceil(INPUTS / 20)));
describe.each(READERS)('the reader of a $name', (reader) => fuzz(reader, WORDS, Math.ceil(INPUTS / 4)));

it('a record of every type is among them', () => {
  expect(new Set(EVENTS.map(({ type }) => type))).toEqual(new Set(SESSION_EVENTS));
});
