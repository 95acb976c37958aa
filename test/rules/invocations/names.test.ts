/**
 * Names of tool sessions.
 *
 * Held here:
 * - a call id is its place and leads back to it; two places never share one, nor a wire id; what is no place is refused;
 * - the wire id is the call id up to 64 characters, and a digest beyond;
 * - queue, governed tool id, task queue and workflow ids lead back to their tool or session, in every version and without one;
 * - the names are what they were: other programs must come to the same.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  callIdOf,
  callPlace,
  callRunId,
  isAskedTool,
  isCallId,
  isRuleName,
  queueNameOf,
  queueWorkflowId,
  sessionOfWorkflow,
  sessionRunId,
  sessionWorkflowId,
  toolIdOf,
  toolOfId,
  toolOfQueue,
  toolOfQueueWorkflow,
  toolTaskQueue,
  wireIdOf,
  type CallPlace,
  type Tool,
} from '../../../src/rules/invocations/names';
import { isGovernedId, isRunId } from '../../../src/rules/recovery';

const SESSION = fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/);
const COUNT = fc.oneof(fc.nat(20), fc.constantFrom(2 ** 31, Number.MAX_SAFE_INTEGER - 1)).map((number) => number + 1);
const PLACE: fc.Arbitrary<CallPlace> = fc.record({
  session: SESSION,
  agentVersion: SESSION,
  turn: COUNT,
  round: COUNT,
  index: COUNT.map((number) => number - 1),
});
const NUMBER = fc.constantFrom('0', '1', '10', '999');
const TOOL: fc.Arbitrary<Tool> = fc.record({
  tool: fc.stringMatching(/^[a-z][a-z0-9-]{0,63}$/),
  version: fc.option(fc.tuple(NUMBER, NUMBER, NUMBER).map((parts) => parts.join('.'))),
});
const place: CallPlace = { session: 's-1', agentVersion: 'v2', turn: 1, round: 2, index: 0 };

describe('a call id', () => {
  it('is its place, and nothing else leads to it', () => {
    expect(callIdOf(place)).toBe('s-1:v2:1:2:0');
    fc.assert(
      fc.property(PLACE, PLACE, (one, other) => {
        expect(callPlace(callIdOf(one))).toEqual(one);
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(callIdOf(one) === callIdOf(other)).toBe(same);
        expect(wireIdOf(callIdOf(one)) === wireIdOf(callIdOf(other))).toBe(same);
        expect(wireIdOf(callIdOf(one)).length).toBeLessThanOrEqual(64);
      }),
      { seed: 1 },
    );
  });

  it.each([
    { ...place, session: '' },
    { ...place, session: 's:1' },
    { ...place, session: 's'.repeat(65) },
    { ...place, agentVersion: 'v 2' },
    { ...place, turn: 0 },
    { ...place, round: -1 },
    { ...place, index: -1 },
    { ...place, index: 0.5 },
    { ...place, index: 2 ** 53 },
    { ...place, turn: 1e21 },
    { ...place, turn: Number.NaN },
  ])('has no place like %j', (wrong) => {
    expect(() => callIdOf(wrong)).toThrow('invalid_arguments: call_id');
  });

  it.each([
    '',
    's:v:1:1',
    's:v:0:1:0',
    's:v:1:0:0',
    's:v:01:1:0',
    's:v:1:1:00',
    's:v:1:1:0:0',
    's:v:1:1:-1',
    's v:v:1:1:0',
  ])('is not %j', (wrong) => {
    expect(isCallId(wrong)).toBe(false);
    expect(() => callPlace(wrong)).toThrow('invalid_arguments: call_id');
  });

  it('is its own wire id up to 64 characters', () => {
    const long = (length: number): string => callIdOf({ ...place, session: 's'.repeat(length - ':v2:1:2:0'.length) });
    expect(wireIdOf(long(64))).toBe(long(64));
    expect(wireIdOf(long(65))).toMatch(/^call_[0-9a-f]{32}$/);
    expect(wireIdOf('s'.repeat(64) + ':v2:1:2:0')).toBe('call_582d2ec223a320d64b28734ddb705dd1');
  });
});

describe('a tool', () => {
  it('is found again from every name of it', () => {
    fc.assert(
      fc.property(TOOL, (tool) => {
        expect(toolOfQueue(queueNameOf(tool))).toEqual(tool);
        expect(isGovernedId(toolIdOf(tool), 'tool')).toBe(true);
        expect(toolOfId(toolIdOf(tool))).toEqual(tool);
        expect(toolOfQueueWorkflow(queueWorkflowId(toolIdOf(tool)) ?? '')).toEqual(tool);
        expect(toolTaskQueue(tool)).toBe(`countersign-tool/${queueNameOf(tool)}`);
      }),
      { seed: 2 },
    );
  });

  it('is called what it was', () => {
    const charge = { tool: 'charge', version: '1.0.0' };
    const plain = { tool: 'charge', version: null };
    expect([queueNameOf(charge), queueNameOf(plain)]).toEqual(['charge@1.0.0', 'charge@default']);
    expect([toolIdOf(charge), toolIdOf(plain)]).toEqual([
      'tool:tools.countersign.local/charge@1.0.0',
      'tool:tools.countersign.local/charge',
    ]);
    expect(queueWorkflowId(toolIdOf(plain))).toBe('countersign-queue/charge@default');
  });

  it('is nothing else', () => {
    for (const wrong of [
      'charge',
      'charge@',
      '@1.0.0',
      'charge@1.0',
      'charge@01.0.0',
      'Charge@1.0.0',
      'a@1.0.0@1.0.0',
      '',
    ]) {
      expect(() => toolOfQueue(wrong)).toThrow('invalid_arguments: queue');
      expect(toolOfQueueWorkflow(`countersign-queue/${wrong}`)).toBeNull();
    }
    for (const wrong of [
      'tool:example.org/charge',
      'tool:tools.countersign.local/Charge',
      'purpose:tools.countersign.local/a',
      '',
    ]) {
      expect(toolOfId(wrong)).toBeNull();
      expect(queueWorkflowId(wrong)).toBeNull();
    }
    expect(() => queueNameOf({ tool: 'charge', version: 'default' })).toThrow('invalid_arguments: version');
    expect(() => toolIdOf({ tool: '-', version: null })).toThrow('invalid_arguments: tool');
    expect(toolOfQueueWorkflow('countersign-session/charge@1.0.0')).toBeNull();
  });
});

describe('a session', () => {
  it('is found again from its workflow, and no other workflow is one', () => {
    fc.assert(
      fc.property(SESSION, (session) => {
        expect(sessionOfWorkflow(sessionWorkflowId(session))).toBe(session);
        expect(isRunId(sessionRunId(session))).toBe(true);
      }),
      { seed: 3 },
    );
    for (const wrong of ['', 'a b', 'a:b', 'a/b', 'x'.repeat(65)]) {
      expect(() => sessionWorkflowId(wrong)).toThrow('invalid_arguments: session');
      expect(sessionOfWorkflow(`countersign-session/${wrong}`)).toBeNull();
    }
    expect(sessionOfWorkflow('countersign/run_1')).toBeNull();
  });

  it('has runs that are what they were', () => {
    expect(sessionRunId('s-1')).toBe('run_adb4d2504f97a924d18384fc4a6df93e');
    expect(callRunId('s-1:v2:1:2:0', { tool: 'charge', version: null })).toBe('run_f2873e93a3a9587b2e77ba3cb7fbc1ef');
  });

  it('gives each of its calls, and each tool, a run of its own', () => {
    const runs = new Set<string>();
    for (const id of ['s-1:v2:1:1:0', 's-1:v2:1:2:0', 's-1:v2:1:1:1', 's-2:v2:1:1:0', 's-1:v3:1:1:0']) {
      for (const version of [null, '1.0.0']) runs.add(callRunId(id, { tool: 'charge', version }));
    }
    expect(runs.size).toBe(10);
    expect(() => callRunId('s-1', { tool: 'charge', version: null })).toThrow('invalid_arguments: call_id');
  });
});

it('a word that a model asked with, and the name of a rule, are plain', () => {
  for (const word of ['charge', 'Charge_2.x-y', '-']) expect(isAskedTool(word)).toBe(true);
  for (const word of ['', 'a b', 'é', 'x'.repeat(129), 5, null]) expect(isAskedTool(word)).toBe(false);
  for (const word of ['over-100', 'team/rule:1']) expect(isRuleName(word)).toBe(true);
  for (const word of ['', '-a', 'a b', 'x'.repeat(129)]) expect(isRuleName(word)).toBe(false);
});
