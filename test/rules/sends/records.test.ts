/**
 * The records about sends: slots, their ends, epochs, witnesses, and the commit evidence.
 *
 * Held here:
 * - what is written reads back as it was, and has one text however it is put together;
 * - a record with a field too few, too many, or of another form is refused by the path of that field, whatever stands in it;
 * - attempts are taken in order, and only what a driver writes is a name of an attempt;
 * - exactly one of several drivers is ever told to go on; the others take over or are fenced;
 * - commit evidence changes with each part of what was committed, and with nothing else.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, type JsonObject } from '../../../src/rules/recovery';
import { Refusal } from '../../../src/rules/refusal';
import { epochFromBytes, epochToText, whoseTurn, type EpochRecord, type Turn } from '../../../src/rules/sends/epoch';
import { commitEvidenceDigest } from '../../../src/rules/sends/evidence';
import { ABSENT_PROOFS, COMMITTED_PROOFS, DOUBTS } from '../../../src/rules/sends/proof';
import {
  attemptName,
  endFromBytes,
  endToText,
  nextAttempt,
  openSlots,
  parseAttemptName,
  quietMs,
  safeCode,
  slotFromBytes,
  slotToText,
} from '../../../src/rules/sends/slot';
import {
  witnessFromBytes,
  witnessToText,
  type ProvenObservation,
  type Witness,
} from '../../../src/rules/sends/witness';
import { QUIET_MS, digest, owner, sendEnd, slotRecord, slotsOf } from './support';

const epochRecord: EpochRecord = { epoch: 3, owner: owner('1'), driver: digest('2'), lineage: 1, scheduledAt: 5 };

const found: readonly ProvenObservation[] = [
  ...ABSENT_PROOFS.map((proof) => ({ state: 'absent' as const, proof })),
  ...COMMITTED_PROOFS.map((proof) => ({ state: 'committed' as const, proof, evidence: digest('e') })),
  ...DOUBTS.map((doubt) => ({ state: 'ambiguous' as const, doubt })),
  { state: 'changed', operationDigest: digest('d') },
];
const witness: Witness = {
  step: 'refused',
  now: 7,
  observations: found,
  refusal: { ordinal: 2, code: 'invalid' },
  checkpointDigest: digest('9'),
};

const approved: Witness = {
  step: 'approved',
  now: 7,
  observations: [],
  refusal: null,
  ground: {
    kind: 'approval',
    digest: digest('a'),
    expiresAt: 9,
    requirement: { rules: [{ approvals: 1 }], requester: null },
  },
  checkpointDigest: digest('9'),
};

interface Format {
  readonly record: string;
  readonly text: string;
  readonly again: (text: string) => string;
}
const FORMATS: readonly Format[] = [
  { record: 'slot', text: slotToText(slotRecord), again: (text) => slotToText(slotFromBytes(text)) },
  { record: 'send_end', text: endToText(sendEnd), again: (text) => endToText(endFromBytes(text)) },
  { record: 'epoch', text: epochToText(epochRecord), again: (text) => epochToText(epochFromBytes(text)) },
  { record: 'witness', text: witnessToText(witness), again: (text) => witnessToText(witnessFromBytes(text)) },
  { record: 'witness', text: witnessToText(approved), again: (text) => witnessToText(witnessFromBytes(text)) },
];

function refusal(read: () => unknown): Refusal {
  try {
    read();
  } catch (fault) {
    if (fault instanceof Refusal) return fault;
    throw fault;
  }
  throw new Error('was accepted');
}

const SECRET = 'planted-secret';

describe.each(FORMATS)('the $record record', ({ record, text, again }) => {
  const fields = parseJson(text, record) as JsonObject;

  it('reads back as it was written, from text and from bytes, in any order of keys', () => {
    const turned = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text) as object).reverse()));
    expect([again(text), again(turned)]).toEqual([text, text]);
  });

  it.each(Object.keys(fields))('is refused by the path of %s when that is missing or of another form', (field) => {
    const { [field]: _gone, ...without } = JSON.parse(text) as Record<string, unknown>;
    const wrong = [without, { ...without, [field]: { [SECRET]: 1 } }, { ...without, [field]: [SECRET] }];
    for (const value of wrong) {
      const { code, field: path, message } = refusal(() => again(JSON.stringify(value)));
      expect(code).toBe('invalid_record');
      expect(path?.startsWith(record)).toBe(true);
      expect(path).toContain(field);
      expect(message.replace(String(path), '')).not.toContain(SECRET);
    }
  });

  it('is refused with a field that it does not have, with one twice, and when it is no record at all', () => {
    const more = JSON.stringify({ ...(JSON.parse(text) as object), extra: SECRET });
    expect(refusal(() => again(more))).toMatchObject({ code: 'invalid_record', field: `${record}.extra` });
    for (const broken of ['', 'null', '[]', '"x"', text.slice(0, -1), `${text.slice(0, -1)},"schema_version":"x"}`]) {
      expect(refusal(() => again(broken)).code).toBe('invalid_record');
    }
  });
});

describe('ends and witnesses', () => {
  it('keep a code for a refusal, and only there', () => {
    for (const end of [
      { ...sendEnd, code: 'x' },
      { ...sendEnd, outcome: 'refused' as const },
      { ...sendEnd, outcome: 'not_sent' as const, code: 'x' },
    ])
      expect(refusal(() => endFromBytes(endToText(end))).field).toBe('send_end.code');
    for (const odd of [
      { ...witness, refusal: null },
      { ...witness, step: 'advance' as const },
      { ...witness, step: 'cancelled' as const },
    ])
      expect(refusal(() => witnessFromBytes(witnessToText(odd))).field).toBe('witness.refusal');
  });

  it('say what people decided in their own step, and only there', () => {
    const { ground } = approved;
    if (ground === undefined) throw new Error('no ground');
    for (const wrong of [
      { ...witness, ground },
      { ...approved, step: 'opened' },
      { ...approved, step: 'denied' },
      { ...approved, observations: found },
      { ...approved, ground: { kind: 'resolution', receipt: digest('b') } },
      { ...approved, ground: undefined },
    ] as Witness[]) {
      expect(refusal(() => witnessFromBytes(witnessToText(wrong))).code).toBe('invalid_record');
    }
    const ended: Witness = { ...witness, step: 'cancelled', refusal: null };
    expect(witnessFromBytes(witnessToText(ended))).toEqual(ended);
    const asked: Witness = { ...ended, ground: { kind: 'resolution', receipt: digest('b') } };
    expect(witnessFromBytes(witnessToText(asked))).toEqual(asked);
  });

  it('let no content through in a code', () => {
    expect(['invalid', 'http.422', 'a:b-c_d'].map(safeCode)).toEqual(['invalid', 'http.422', 'a:b-c_d']);
    for (const odd of ['', 'has spaces', 'x'.repeat(65), '-x', 'Jörg', 'a\nb']) expect(safeCode(odd)).toBe('refused');
  });
});

describe('attempts', () => {
  it('have names that come back, and nothing else is a name', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9_999 }), fc.boolean(), (attempt, end) => {
        const name = `${attemptName(attempt)}${end ? '.end' : ''}`;
        expect(parseAttemptName(name)).toEqual({ attempt, end });
      }),
    );
    for (const odd of ['0000', '1', '001', '00001', '0001.tmp', '0001.end.end', '0001/', 'x001', '0001 ', ''])
      expect(parseAttemptName(odd)).toBeNull();
  });

  it('are taken one behind the other', () => {
    expect(nextAttempt([])).toBe(1);
    expect(nextAttempt(slotsOf(['closed', 'open_quiet']))).toBe(3);
    expect(nextAttempt([...slotsOf(['closed', 'open_quiet', 'acked'])].reverse())).toBe(4);
  });

  it('are open when begun and without an end, and quiet after their own deadline and settle time', () => {
    const slots = slotsOf(['closed', 'open_quiet', 'not_sent', 'refused', 'acked', 'open_unquiet']);
    expect(openSlots(slots).map((slot) => slot.attempt)).toEqual([2, 6]);
    expect(openSlots(slots).map(quietMs)).toEqual([QUIET_MS, QUIET_MS]);
  });
});

describe('whose turn it is', () => {
  const [me, other] = [digest('a'), digest('b')];
  const taken = (...drivers: string[]): readonly EpochRecord[] =>
    drivers.map((driver, index) => ({ ...epochRecord, epoch: index + 1, driver }));

  const TABLE: readonly [string, readonly EpochRecord[], number | null, boolean, Turn][] = [
    ['nobody drove', [], null, false, { turn: 'first' }],
    ['nobody drove, whatever is claimed', [], 4, true, { turn: 'first' }],
    ['we drove and came back', taken(me), 1, false, { turn: 'continue', epoch: 1 }],
    ['we drove and never came back', taken(me), null, false, { turn: 'take_over', epoch: 2 }],
    ['we drove and claim an older epoch', taken(me, me), 1, false, { turn: 'take_over', epoch: 3 }],
    ['we drove and claim an epoch to come', taken(me), 2, false, { turn: 'take_over', epoch: 2 }],
    ['another drove', taken(other), null, false, { turn: 'take_over', epoch: 2 }],
    ['another drove and we claim its epoch', taken(other), 1, false, { turn: 'take_over', epoch: 2 }],
    ['another took over from us', taken(me, other), 1, false, { turn: 'fenced' }],
    ['another took over from us, and a person says go on', taken(me, other), 1, true, { turn: 'take_over', epoch: 3 }],
    ['we took over from another', taken(other, me), 2, false, { turn: 'continue', epoch: 2 }],
    ['a person says go on, and it is ours anyway', taken(other, me), 2, true, { turn: 'continue', epoch: 2 }],
  ];
  it.each(TABLE)('%s', (_case, epochs, held, reclaim, turn) => {
    expect(whoseTurn(epochs, { driver: me, held, reclaim })).toEqual(turn);
  });

  it('lets at most one of several drivers go on, and never one whose epoch is not the latest', () => {
    const drivers = fc.constantFrom(digest('a'), digest('b'), digest('c'));
    fc.assert(
      fc.property(fc.array(drivers, { maxLength: 6 }), fc.nat(7), fc.boolean(), (order, held, reclaim) => {
        const epochs = taken(...order);
        const turns = [digest('a'), digest('b'), digest('c')].map((driver) =>
          whoseTurn(epochs, { driver, held, reclaim }),
        );
        const on = turns.filter((turn) => turn.turn === 'continue');
        expect(on.length).toBeLessThanOrEqual(1);
        for (const turn of turns) {
          if (turn.turn === 'continue') expect(turn.epoch).toBe(order.length);
          if (turn.turn === 'take_over') expect(turn.epoch).toBe(order.length + 1);
        }
      }),
    );
  });
});

describe('commit evidence', () => {
  const identity = {
    toolId: 'tool:example.org/a@1.0.0',
    idempotencyKey: `idem_${'1'.repeat(64)}`,
    operationDigest: digest('1'),
    externalId: 'x' as string | null,
  };
  it('covers every part of the identity, and nothing more', () => {
    const others = [
      { ...identity, toolId: 'tool:example.org/b@1.0.0' },
      { ...identity, idempotencyKey: `idem_${'2'.repeat(64)}` },
      { ...identity, operationDigest: digest('2') },
      { ...identity, externalId: 'y' },
      { ...identity, externalId: null },
    ];
    const digests = [identity, ...others].map(commitEvidenceDigest);
    expect(new Set(digests).size).toBe(digests.length);
    expect(commitEvidenceDigest({ ...identity, amount: 5, result: 'paid' } as typeof identity)).toBe(digests[0]);
    expect(digests[0]).toBe('sha256:53f996515689b3bfa9642ba5f012f6b34ba2e6623d122b16ebbabc74f62c40e6');
  });
});
