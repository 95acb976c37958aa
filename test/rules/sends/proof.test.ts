/**
 * What proves what, over every combination of the facts that `judge` can tell apart.
 *
 * Held here, each against the design's table and not against the code:
 * - `committed` has one of its proofs, under that proof's own condition; a look-up that says committed beats every slot;
 * - `absent` has one of its proofs, under that proof's own condition, and is said whenever a proof is there;
 * - a hint, an acknowledged send, a committed chain or a sink that doesn't answer never proves absence;
 * - an open send that may still land is never passed over, unless sending again can do no harm and is still to be done;
 * - waits name whose time they wait for, are finite, and are over after a bounded number of them;
 * - a proof that was reached stays the same however much longer is waited;
 * - a person's word changes nothing but a doubt, and for `absent` only of the attempts that it was given about.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import {
  judge,
  SINK_WAIT,
  type Attestation,
  type Facts,
  type SinkTraits,
  type Verdict,
} from '../../../src/rules/sends/proof';
import type { SinkAnswer } from '../../../src/rules/sends/traits';
import { DEADLINE_MS, OPENED_AT, QUIET_MS, SETTLE_MS, SLOT_KINDS, digest, slotsOf, type SlotKind } from './support';

const OURS = digest('0');
const ANSWERS: readonly (SinkAnswer | null)[] = [
  null,
  { state: 'absent' },
  { state: 'committed', operationDigest: OURS, externalId: 'x' },
  { state: 'committed', operationDigest: digest('f'), externalId: 'x' },
  { state: 'in_flight' },
  { state: 'in_flight', retryAfterMs: 7_000 },
  { state: 'unknown' },
];
/** No horizon; one that every time below is inside of; one that is over. */
const HORIZONS = [null, 3_600_000, 4_000] as const;
const NOW = OPENED_AT + 2_000;

interface Case {
  readonly traits: SinkTraits;
  readonly answer: SinkAnswer | null;
  readonly kinds: readonly SlotKind[];
  readonly committed: boolean;
  readonly ending: boolean;
  readonly sinkWaited: number;
}

function* slotLists(longest: number): Generator<readonly SlotKind[]> {
  yield [];
  if (longest === 0) return;
  for (const shorter of slotLists(longest - 1)) for (const kind of SLOT_KINDS) yield [...shorter, kind];
}

function* everyTrait(): Generator<SinkTraits> {
  const base = { deadlineMs: DEADLINE_MS, settleMs: SETTLE_MS };
  for (const sideEffect of ['read_only', 'idempotent_write', 'non_idempotent_write', 'irreversible_action'] as const)
    for (const lookup of ['authoritative', 'hint', 'none'] as const)
      for (const enforcesKey of ['always', 'within_horizon', 'no'] as const)
        for (const horizonMs of HORIZONS)
          for (const maxAttempts of [1, 2]) yield { ...base, sideEffect, lookup, enforcesKey, horizonMs, maxAttempts };
}

function* everyCase(longest: number): Generator<Case> {
  const lists = [...new Set([...slotLists(longest)].map((list) => list.join()))].map(
    (text) => (text === '' ? [] : text.split(',')) as SlotKind[],
  );
  for (const traits of everyTrait())
    for (const kinds of lists)
      for (const answer of ANSWERS)
        for (const committed of [false, true])
          for (const ending of [false, true])
            for (const sinkWaited of [0, QUIET_MS]) yield { traits, answer, kinds, committed, ending, sinkWaited };
}

function factsOf(one: Case, more = 0): Facts {
  const { traits, answer, committed, ending } = one;
  const waited = (attempt: number): number => {
    if (attempt === SINK_WAIT) return one.sinkWaited;
    return one.kinds[attempt - 1] === 'open_quiet' ? QUIET_MS : 0;
  };
  const waitedMs = (attempt: number): number => waited(attempt) + more;
  return { traits, operationDigest: OURS, committed, answer, slots: slotsOf(one.kinds), waitedMs, ending, now: NOW };
}

// The table of the design, said once more as plain conditions.
const count = (one: Case, ...kinds: SlotKind[]): number => one.kinds.filter((kind) => kinds.includes(kind)).length;
const begun = (one: Case): number => one.kinds.length - count(one, 'closed');
const open = (one: Case): number => count(one, 'open_quiet', 'open_unquiet');
const inside = ({ traits, kinds }: Case): boolean => {
  const first = kinds.findIndex((kind) => kind !== 'closed');
  if (traits.horizonMs === null || first === -1) return true;
  return NOW + QUIET_MS < OPENED_AT + first + traits.horizonMs;
};
const spent = (one: Case): boolean => count(one, 'open_quiet', 'open_unquiet', 'acked') >= one.traits.maxAttempts;
const silent = (one: Case): boolean =>
  one.answer?.state === 'absent' || (one.answer === null && one.traits.lookup !== 'authoritative');
const harmless = (one: Case): boolean => {
  const { sideEffect, enforcesKey } = one.traits;
  if (sideEffect === 'read_only') return true;
  if (one.ending || spent(one)) return false;
  return enforcesKey === 'always' || (enforcesKey === 'within_horizon' && inside(one));
};
const nothingSaysCommitted = (one: Case): boolean => silent(one) && !one.committed && count(one, 'acked') === 0;

const CONDITIONS: Record<Extract<Verdict, { state: 'absent' }>['proof'], (one: Case) => boolean> = {
  never_begun: (one) => one.kinds.length === 0 && one.traits.lookup !== 'authoritative',
  closed: (one) => one.kinds.length > 0 && begun(one) === 0 && one.traits.lookup !== 'authoritative',
  not_sent: (one) => begun(one) > 0 && open(one) === 0 && one.traits.lookup !== 'authoritative',
  looked_up: (one) => one.traits.lookup === 'authoritative' && count(one, 'open_unquiet') === 0 && inside(one),
  resend_safe: (one) => open(one) > 0 && harmless(one),
  attested: () => false,
};

function faultOf(one: Case, verdict: Verdict): string | null {
  const { answer, traits, kinds } = one;
  if (answer?.state === 'committed') {
    const ours = answer.operationDigest === OURS;
    if (ours && verdict.state === 'committed' && verdict.proof === 'looked_up' && verdict.externalId === 'x')
      return null;
    if (!ours && verdict.state === 'changed' && verdict.operationDigest === answer.operationDigest) return null;
    return 'a committed look-up beats everything';
  }
  switch (verdict.state) {
    case 'changed':
      return 'changed without a look-up that says so';
    case 'committed':
      if (verdict.proof !== 'acked' || verdict.externalId !== 'row-1') return 'committed without its proof';
      if (!silent(one) || count(one, 'acked') === 0) return 'acked without an end, or against a look-up';
      return traits.lookup === 'authoritative' ? 'acked against an authoritative look-up' : null;
    case 'absent':
      if (!nothingSaysCommitted(one)) return 'absent against something that says committed or unknown';
      if (spent(one) && !one.ending) return 'absent although every attempt is spent';
      return CONDITIONS[verdict.proof](one) ? null : `${verdict.proof} outside of its condition`;
    case 'wait': {
      const allowed = [SINK_WAIT, ...kinds.flatMap((kind, index) => (kind === 'open_unquiet' ? [index + 1] : []))];
      if (!Number.isSafeInteger(verdict.waitMs) || verdict.waitMs < 1) return 'a wait of no length';
      if (verdict.attempts.length === 0) return 'a wait for nobody';
      return verdict.attempts.every((attempt) => allowed.includes(attempt)) ? null : 'a wait for a quiet attempt';
    }
    case 'ambiguous': {
      if (!nothingSaysCommitted(one)) {
        const acked = silent(one) && count(one, 'acked') > 0 && traits.lookup !== 'authoritative';
        return acked ? 'a durable end is a proof' : null;
      }
      if (spent(one) && !one.ending) return null;
      const provable = Object.values(CONDITIONS).some((holds) => holds(one));
      return provable ? `needless doubt (${verdict.doubt})` : null;
    }
  }
}

const show = (one: Case, verdict: Verdict): string => JSON.stringify({ ...one, verdict });

describe('judge, over every combination of facts', () => {
  let cases = 0;
  const faults: string[] = [];
  const waits: Case[] = [];
  const proofs: [Case, Verdict][] = [];

  beforeAll(() => {
    for (const one of everyCase(2)) {
      cases += 1;
      const verdict = judge(factsOf(one));
      const fault = faultOf(one, verdict);
      if (fault !== null && faults.length < 5) faults.push(`${fault}: ${show(one, verdict)}`);
      if (verdict.state === 'wait') waits.push(one);
      else if (verdict.state !== 'ambiguous') proofs.push([one, verdict]);
    }
  });

  it('says only what the table of proofs allows, and all of it', () => {
    expect(faults).toEqual([]);
    expect(cases).toBeGreaterThan(250_000);
  });

  it('waits a bounded number of times, and then says something for good', () => {
    const wrong: string[] = [];
    for (const one of waits) {
      const waited = new Map<number, number>();
      const facts = factsOf(one);
      const later: Facts = { ...facts, waitedMs: (attempt) => facts.waitedMs(attempt) + (waited.get(attempt) ?? 0) };
      let verdict = judge(later);
      let total = 0;
      let rounds = 0;
      for (; verdict.state === 'wait' && rounds < 20; rounds += 1) {
        total += verdict.waitMs;
        for (const attempt of verdict.attempts) waited.set(attempt, (waited.get(attempt) ?? 0) + verdict.waitMs);
        verdict = judge(later);
      }
      // One quiet time for the sink, one for the sends: nobody waits for longer than both together.
      if (verdict.state === 'wait' || total > 2 * QUIET_MS) wrong.push(show(one, verdict));
    }
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(waits.length).toBeGreaterThan(1_000);
  });

  it('keeps a proof however much longer is waited', () => {
    const wrong = proofs.filter(([one, before]) => {
      // A send that may repeat for free needs no wait; once the wait is over, the look-up itself may prove it.
      const after = judge(factsOf(one, 10 * QUIET_MS));
      return JSON.stringify(after) !== JSON.stringify(before);
    });
    expect(wrong.slice(0, 5).map(([one, before]) => show(one, before))).toEqual([]);
  });
});

describe('a person’s word, over every combination of facts', () => {
  const wrong: string[] = [];
  const counted = { unchanged: 0, committed: 0, absent: 0, doubted: 0 };

  beforeAll(() => {
    for (const one of everyCase(2)) {
      const facts = factsOf(one, 10 * QUIET_MS);
      const before = judge(facts);
      const heard = (attested: Attestation): Verdict => judge({ ...facts, attested });
      const committed = heard({ says: 'committed', externalId: 'row-9' });
      const absents = [0, 1, 2].map((attempts) => heard({ says: 'absent', attempts }));
      const fault = (): string | null => {
        if (before.state !== 'ambiguous') {
          counted.unchanged += 1;
          const same = [committed, ...absents].every((verdict) => JSON.stringify(verdict) === JSON.stringify(before));
          return same ? null : 'a word against a proof';
        }
        counted.committed += 1;
        if (committed.state !== 'committed' || committed.proof !== 'attested' || committed.externalId !== 'row-9') {
          return 'a word for committed that is not believed';
        }
        for (const [attempts, verdict] of absents.entries()) {
          const later = one.kinds.slice(attempts);
          const mayHaveHappened = later.some((kind) => kind.startsWith('open') || kind === 'acked');
          if (verdict.state === 'absent') {
            counted.absent += 1;
            if (verdict.proof !== 'attested' || one.committed || mayHaveHappened)
              return 'a word about what it does not cover';
          } else {
            counted.doubted += 1;
            if (JSON.stringify(verdict) !== JSON.stringify(before)) return 'a doubt that is another';
            if (!one.committed && !mayHaveHappened) return 'a word for absent that is not believed';
          }
        }
        return null;
      };
      const found = fault();
      if (found !== null && wrong.length < 5) wrong.push(`${found}: ${show(one, before)}`);
    }
  });

  it('is heard only in doubt, and no further than it goes', () => {
    expect(wrong).toEqual([]);
    expect(Math.min(...Object.values(counted))).toBeGreaterThan(10_000);
  });
});

describe('judge, at the edges', () => {
  const one: Case = {
    traits: {
      sideEffect: 'non_idempotent_write',
      lookup: 'authoritative',
      enforcesKey: 'no',
      deadlineMs: DEADLINE_MS,
      settleMs: SETTLE_MS,
      horizonMs: null,
      maxAttempts: 3,
    },
    answer: { state: 'absent' },
    kinds: ['open_unquiet'],
    committed: false,
    ending: false,
    sinkWaited: 0,
  };

  it('counts a send as quiet exactly when its deadline and settle time have passed', () => {
    const at = (ms: number): Verdict => judge({ ...factsOf(one), waitedMs: () => ms });
    expect(at(QUIET_MS - 1)).toEqual({ state: 'wait', waitMs: 1, attempts: [1] });
    expect(at(QUIET_MS)).toEqual({ state: 'absent', proof: 'looked_up' });
  });

  it('leaves the horizon while a whole send would still fit into it', () => {
    const horizonMs = 100_000;
    const traits = { ...one.traits, horizonMs };
    const at = (now: number): Verdict => judge({ ...factsOf({ ...one, traits }), waitedMs: () => QUIET_MS, now });
    const last = OPENED_AT + horizonMs - QUIET_MS - 1;
    expect(at(last)).toEqual({ state: 'absent', proof: 'looked_up' });
    expect(at(last + 1)).toEqual({ state: 'ambiguous', doubt: 'beyond_horizon' });
  });

  it('stops at a hundred begun sends, proven not sent or not', () => {
    const sent = (times: number): Verdict =>
      judge({ ...factsOf({ ...one, kinds: Array.from({ length: times }, () => 'not_sent' as const) }) });
    expect(sent(99)).toEqual({ state: 'absent', proof: 'looked_up' });
    expect(sent(100)).toEqual({ state: 'ambiguous', doubt: 'attempts_exhausted' });
  });

  it('asks a silent sink again ever more slowly, and as late as the sink itself asks for', () => {
    const wait = (answer: SinkAnswer, sinkWaited: number): Verdict =>
      judge(factsOf({ ...one, kinds: [], answer, sinkWaited }));
    expect(wait({ state: 'unknown' }, 0)).toMatchObject({ state: 'wait', waitMs: 1_000 });
    expect(wait({ state: 'unknown' }, 1_500)).toMatchObject({ state: 'wait', waitMs: 1_500 });
    expect(wait({ state: 'in_flight', retryAfterMs: 2_500 }, 0)).toMatchObject({ state: 'wait', waitMs: 2_500 });
    expect(wait({ state: 'in_flight', retryAfterMs: 60_000 }, 0)).toMatchObject({ state: 'wait', waitMs: QUIET_MS });
    expect(wait({ state: 'in_flight' }, QUIET_MS)).toEqual({ state: 'ambiguous', doubt: 'in_flight_too_long' });
  });
});
