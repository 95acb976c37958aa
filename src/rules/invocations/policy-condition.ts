/**
 * The conditions of policies. Invariant: a condition holds, does not hold, or cannot be judged, because an argument is missing or of
 * another kind than the policy speaks of; what cannot be judged stays so through `all`, `any` and `not`, and it is the rule's decision
 * that makes of it whatever is more careful.
 */
import { Fields, type Dict } from '../fields';
import type { JsonValue } from '../recovery';
import { compilePattern, type Pattern } from './pattern';
import type { Trigger } from './vocabulary';

export const OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'matches'] as const;
export type Operator = (typeof OPERATORS)[number];
export type Scalar = string | number | boolean | null;

export type Condition =
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly not: Condition }
  /** `field`: a path into the arguments, as `customer.country` or `/customer/country`; `dispatch.trigger`; `dispatch.outcome`. */
  | { readonly field: string; readonly op: Operator; readonly value: Scalar | readonly Scalar[] };

/** Of what a condition is judged. */
export interface Facts {
  /** The arguments as the tool will see them. */
  readonly args: unknown;
  /** Null before anything went wrong. */
  readonly trigger: Trigger | null;
  /** How the call ended, where the trigger is about an outcome. */
  readonly outcome: string | null;
}

/** `unknown`: it cannot be judged. */
export type Truth = 'true' | 'false' | 'unknown';

export interface CompiledCondition {
  readonly judge: (facts: Facts) => Truth;
  /** It asks why a call stands still. */
  readonly asksDispatch: boolean;
}

const DISPATCH_FIELDS = { 'dispatch.trigger': 'trigger', 'dispatch.outcome': 'outcome' } as const;
/** The longest text that a pattern is tried on. */
const LONGEST_TEXT = 20_000;
const DEEPEST = 20;
const MOST_VALUES = 1_000;

type Judge = (found: unknown) => Truth;
type ReadOperator = (at: Fields, path: string) => Judge;

const truth = (holds: boolean): Truth => (holds ? 'true' : 'false');
const NEGATED: Record<Truth, Truth> = { true: 'false', false: 'true', unknown: 'unknown' };

const OPERATOR: Record<Operator, ReadOperator> = {
  eq: (at) => equals(scalarAt(at)),
  neq: (at) => {
    const judge = equals(scalarAt(at));
    return (found) => NEGATED[judge(found)];
  },
  gt: (at) => ordered(at, (found, value) => found > value),
  gte: (at) => ordered(at, (found, value) => found >= value),
  lt: (at) => ordered(at, (found, value) => found < value),
  lte: (at) => ordered(at, (found, value) => found <= value),
  in: (at) => {
    const values = at.list('value', 1);
    if (values.length > MOST_VALUES) at.refuse(`must list ${MOST_VALUES} at most`, 'value');
    const judges = values.map((value) => {
      const one = scalar(value);
      return one === undefined ? at.refuse('must list texts, numbers, true, false or null', 'value') : equals(one);
    });
    return (found) =>
      anyOf(
        judges.map((judge) => judge(found)),
        'true',
      );
  },
  matches: (at, path) =>
    matches(
      compilePattern(
        at.text('value', 'a pattern', () => true),
        `${path}.value`,
      ),
    ),
};

/** Throws a `Refusal` `invalid_policy` that names the place. */
export function compileCondition(value: unknown, path: string, depth = 0): CompiledCondition {
  const at = new Fields(value, path, 'invalid_policy');
  if (depth > DEEPEST) at.refuse(`nests deeper than ${DEEPEST} levels`, null);
  const some = (field: string): readonly CompiledCondition[] =>
    at.list(field, 1).map((part, index) => compileCondition(part, `${path}.${field}[${index}]`, depth + 1));
  if (at.has('all')) return joined(at, some('all'), 'false');
  if (at.has('any')) return joined(at, some('any'), 'true');
  if (!at.has('not')) return leaf(at, path);
  const { judge, asksDispatch } = compileCondition(at.raw('not'), `${path}.not`, depth + 1);
  at.end();
  return { judge: (facts) => NEGATED[judge(facts)], asksDispatch };
}

export function conditionToRecord(condition: Condition): Dict {
  if ('all' in condition) return { all: condition.all.map(conditionToRecord) };
  if ('any' in condition) return { any: condition.any.map(conditionToRecord) };
  if ('not' in condition) return { not: conditionToRecord(condition.not) };
  // Members that are none must not get lost here: the reader refuses them.
  return { ...condition } as Dict;
}

function joined(at: Fields, parts: readonly CompiledCondition[], decisive: 'true' | 'false'): CompiledCondition {
  at.end();
  return {
    judge: (facts) =>
      anyOf(
        parts.map(({ judge }) => judge(facts)),
        decisive,
      ),
    asksDispatch: parts.some(({ asksDispatch }) => asksDispatch),
  };
}

/** The decisive answer where one part gives it; else what cannot be judged; else the other one. */
function anyOf(answers: readonly Truth[], decisive: 'true' | 'false'): Truth {
  if (answers.includes(decisive)) return decisive;
  return answers.includes('unknown') ? 'unknown' : NEGATED[decisive];
}

function leaf(at: Fields, path: string): CompiledCondition {
  const field = at.text(
    'field',
    'a path of arguments, "dispatch.trigger" or "dispatch.outcome"',
    (text) => text !== '',
  );
  const op = at.oneOf('op', OPERATORS);
  const judge = OPERATOR[op](at, path);
  at.end();
  if (Object.hasOwn(DISPATCH_FIELDS, field)) {
    if (!['eq', 'neq', 'in', 'matches'].includes(op)) at.refuse(`of ${field} must be eq, neq, in or matches`, 'op');
    const member = DISPATCH_FIELDS[field as keyof typeof DISPATCH_FIELDS];
    // That nothing went wrong is known: it is not a fact that is missing.
    const judgeFact = (fact: string | null): Truth => (fact === null ? truth(op === 'neq') : judge(fact));
    return { judge: (facts) => judgeFact(facts[member]), asksDispatch: true };
  }
  const steps =
    stepsOf(field) ?? at.refuse('is no path; write names with dots between them, or a JSON pointer', 'field');
  return { judge: ({ args }) => found(args, steps, judge), asksDispatch: false };
}

function stepsOf(field: string): readonly string[] | null {
  if (field.startsWith('/')) {
    const steps = field.slice(1).split('/');
    if (steps.some((step) => /~(?![01])/.test(step))) return null;
    return steps.map((step) => step.replace(/~1/g, '/').replace(/~0/g, '~'));
  }
  const steps = field.split('.');
  // Under this name stand the facts of the dispatch; an argument of the same name is reached by its pointer.
  return steps[0] === 'dispatch' || steps.some((step) => step === '') ? null : steps;
}

function found(args: unknown, steps: readonly string[], judge: Judge): Truth {
  let value = args;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return 'unknown';
    if (Array.isArray(value) && !/^(0|[1-9][0-9]*)$/.test(step)) return 'unknown';
    value = (value as Record<string, unknown>)[step];
  }
  return value === undefined ? 'unknown' : judge(value);
}

/** A text never equals a number; a tool may make one of the other, so that they differ is not known. */
function equals(value: Scalar): Judge {
  return (found) => {
    if (found === value) return 'true';
    if (value === null) return 'false';
    return typeof found === typeof value ? 'false' : 'unknown';
  };
}

function ordered(at: Fields, holds: (found: number, value: number) => boolean): Judge {
  const value = scalarAt(at);
  if (typeof value !== 'number') return at.refuse('must be a number', 'value');
  return (found) => (typeof found === 'number' ? truth(holds(found, value)) : 'unknown');
}

function matches(pattern: Pattern): Judge {
  return (found) =>
    typeof found === 'string' && found.length <= LONGEST_TEXT ? truth(pattern.test(found)) : 'unknown';
}

function scalarAt(at: Fields): Scalar {
  const value = scalar(at.raw('value'));
  return value === undefined ? at.refuse('must be a text, a number, true, false or null', 'value') : value;
}

function scalar(value: unknown): Scalar | undefined {
  const plain = typeof value === 'bigint' ? Number(value) : (value as JsonValue);
  if (plain === null || typeof plain === 'string' || typeof plain === 'boolean') return plain;
  const isExact =
    typeof plain === 'number' && Number.isFinite(plain) && (typeof value !== 'bigint' || Number.isSafeInteger(plain));
  return isExact ? plain : undefined;
}
