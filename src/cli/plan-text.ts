/**
 * The JSON text of a plan or a draft, read strictly. Invariant: a document is accepted only if nothing in it changes on the
 * way to a sink: unique names, and no number that JavaScript would round. A fault is named by path and line, never by value;
 * inside an operation names are content too, and stand as `*`.
 */
import { RecoveryError, isJsonObject, parseJson, type JsonValue } from '../rules/recovery';
import { Refusal } from '../rules/refusal';

export const MAX_PLAN_BYTES = 16 * 1024 * 1024;
/** Below what contents may be nested, with room for the envelope around them. */
const MAX_OPERATION_DEPTH = 190;

/** Where what people write about begins: below it, names are content, too. */
const CONTENT =
  /^(?:effects\[[0-9]+\]\.operation|capture\.(?:content|target)|goal|protected_intent|checks\[[0-9]+\]\.configuration)$/;

/** JSON as ordinary JavaScript values. */
export type PlainJson =
  null | boolean | string | number | readonly PlainJson[] | { readonly [name: string]: PlainJson };

export function readPlanText(bytes: Uint8Array): PlainJson {
  if (bytes.length > MAX_PLAN_BYTES) {
    const reason = `is larger than ${MAX_PLAN_BYTES / 2 ** 20} MiB; keep large contents elsewhere and let operations name them`;
    throw new Refusal('plan_too_large', reason, 'document');
  }
  const text = decoded(bytes);
  const { marked, line } = markRoundedNumbers(text);
  return plain(parsed(marked), { path: '', depth: 0, content: false, line });
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refuse('is not UTF-8 text', 'document');
  }
}

function parsed(text: string): JsonValue {
  try {
    return parseJson(text, 'document');
  } catch (fault) {
    if (!(fault instanceof RecoveryError)) throw fault;
    return fault.code === 'duplicate_field'
      ? refuse('holds an object that names one field twice; keep one of them', 'document')
      : refuse('is not JSON', 'document');
  }
}

const TOKENS = /"(?:[^"\\]|\\[^])*"|-?(?:[0-9][0-9.eE+-]*|Infinity|NaN)/g;

/** Replaces numbers that would be rounded by `NaN`, so that the walk below meets them where they stand. */
function markRoundedNumbers(text: string): { readonly marked: string; readonly line: number } {
  let first = -1;
  const marked = text.replace(TOKENS, (token, index: number) => {
    if (token.startsWith('"') || isExact(token)) return token;
    if (first < 0) first = index;
    return 'NaN';
  });
  return { marked, line: first < 0 ? 0 : text.slice(0, first).split('\n').length };
}

/** Whether a number is the same after it went through JavaScript. What is no number at all is left to the parser. */
function isExact(token: string): boolean {
  const number = Number(token);
  if (/^-?(?:Infinity|NaN)$/.test(token)) return false;
  if (Number.isNaN(number)) return true;
  if (/^-?[0-9]+$/.test(token)) return Number.isSafeInteger(number);
  return Number.isFinite(number) && decimal(String(number)) === decimal(token);
}

/** One spelling for each decimal value: its digits without outer zeros, and the place of the last one. */
function decimal(token: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(token) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  return `${sign}${kept}e${BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - kept.length)}`;
}

interface Place {
  readonly path: string;
  readonly depth: number;
  readonly content: boolean;
  readonly line: number;
}

function plain(value: JsonValue, at: Place): PlainJson {
  if (at.depth > MAX_OPERATION_DEPTH)
    refuse(
      `is nested deeper than ${MAX_OPERATION_DEPTH} levels`,
      at.path.replace(/^(effects\[[0-9]+\]\.operation).*/, '$1').slice(0, 80),
    );
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    refuse(`holds a number that cannot be kept exactly (line ${at.line}); write it as text`, at.path || 'document');
  }
  if (Array.isArray(value)) {
    return (value as readonly JsonValue[]).map((item, index) =>
      plain(item, { ...at, path: `${at.path}[${index}]`, depth: at.depth + 1 }),
    );
  }
  if (!isJsonObject(value)) return value as string | number | boolean | null;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const shown = at.content ? '*' : name.slice(0, 64);
      const path = at.path === '' ? shown : `${at.path}.${shown}`;
      const content = at.content || CONTENT.test(path);
      return [name, plain(item, { ...at, path, depth: at.depth + 1, content })];
    }),
  );
}

function refuse(reason: string, field: string): never {
  throw new Refusal('invalid_plan', reason, field);
}
