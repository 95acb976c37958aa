/**
 * What a policy decides of a call: whether it may go to a worker, must be approved first, or must not; and whether a person is asked when
 * it stands still. Invariant: deny wins over approval, and approval over allow, whatever the order of the rules; what a rule cannot
 * judge makes it match where it forbids or asks, and not match where it allows; where some rule allows, what none allows is denied.
 */
import { Fields, parseRecord, type Dict } from '../fields';
import type { ApprovalRule } from '../receipts/approval-rule';
import { isRole } from '../receipts/names';
import { REJECTIONS, type ApprovalTerms, type OnRejection, type OnTimeout } from './approval';
import { timeoutFrom } from './approval-record';
import { isRuleName, queueNameOf, toolOfQueue, isToolName, type Tool } from './names';
import {
  compileCondition,
  conditionToRecord,
  type CompiledCondition,
  type Condition,
  type Facts,
} from './policy-condition';
import type { Trigger } from './vocabulary';

export const SCOPES = ['agent', 'tool'] as const;
export type Scope = (typeof SCOPES)[number];
export const DECISIONS = ['allow', 'deny', 'require_approval', 'escalate'] as const;
export type Decision = (typeof DECISIONS)[number];

export interface PolicyRule {
  /** Unique; shown to people and told to the model. */
  readonly name: string;
  /** `agent`: it is about every call. `tool`: it is about calls of the tools in `allow`. */
  readonly scope: Scope;
  /** Tools, as `charge@1.0.0` or, in every version, `charge`. A rule for the agent that lists any denies every other tool. */
  readonly allow?: readonly string[];
  /** @default it always holds */
  readonly conditions?: Condition;
  /** `escalate`: a person is asked when the call stands still. */
  readonly decision: Decision;
  /** How people are asked, of `require_approval` and `escalate`. Role of those who may decide. @default any reviewer's */
  readonly route?: string;
  /** Distinct people who must approve. @default 1 */
  readonly approvals?: number;
  /** @default for ever */
  readonly expiryMs?: number;
  /** @default 'deny' */
  readonly onTimeout?: OnTimeout;
  /** @default 'return_to_agent' */
  readonly onRejection?: OnRejection;
}

interface Rule {
  readonly name: string;
  readonly scope: Scope;
  readonly allow: readonly string[];
  readonly condition: CompiledCondition | null;
  readonly decision: Decision;
  readonly terms: ApprovalTerms;
}

export interface Policies {
  readonly rules: readonly Rule[];
}

export interface CallFacts {
  readonly tool: Tool;
  readonly args: unknown;
}

/** `rule`: null where no rule says so, but none allows it. */
export type CallVerdict =
  | { readonly decision: 'allow' }
  | { readonly decision: 'deny'; readonly rule: string | null }
  /** All of these must be met. */
  | { readonly decision: 'require_approval'; readonly terms: readonly ApprovalTerms[] };

export interface TriggerFacts {
  /** Null where the whole session stands still. */
  readonly tool: Tool | null;
  readonly args: unknown;
  readonly trigger: Trigger;
  readonly outcome: string | null;
}

export type TriggerVerdict =
  /** Nobody is asked: it fails with the trigger as its code. */
  { readonly decision: 'fail' } | { readonly decision: 'escalate'; readonly terms: readonly ApprovalTerms[] };

const MOST_RULES = 1_000;
const MOST_APPROVALS = 100;

/** Checks rules and makes them ready. Throws a `Refusal` `invalid_policy` that names the rule and the field. */
export function policiesOf(rules: readonly PolicyRule[]): Policies {
  return policiesFromRecord(rules.map(ruleToRecord));
}

/** Of a policy file: a list of rules, with names in snake_case. */
export function policiesFromText(text: Uint8Array | string): Policies {
  return parseRecord(text, 'policies', policiesFromRecord);
}

export function policiesFromRecord(value: unknown): Policies {
  const list = new Fields({ policies: value }, '', 'invalid_policy');
  const rules = list.list('policies').map(ruleFrom);
  if (rules.length > MOST_RULES) list.refuse(`must be ${MOST_RULES} rules at most`, 'policies');
  const twice = rules.find(({ name }, index) => rules.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined)
    list.refuse('has the name of another rule; give each its own', `policies.${twice.name}.name`);
  return { rules };
}

/** Before a call is dispatched. Its arguments have been checked against the tool's schema. */
export function judgeCall({ rules }: Policies, { tool, args }: CallFacts): CallVerdict {
  const facts: Facts = { args, trigger: null, outcome: null };
  const forbids = rules.find((rule) => rule.scope === 'agent' && rule.allow.length > 0 && !names(rule, tool));
  if (forbids !== undefined) return { decision: 'deny', rule: forbids.name };
  const about = rules.filter((rule) => isAbout(rule, tool));
  const matching = about.filter((rule) => isMatch(rule, facts));
  const denies = matching.find(({ decision }) => decision === 'deny');
  if (denies !== undefined) return { decision: 'deny', rule: denies.name };
  const terms = matching.filter(({ decision }) => decision === 'require_approval').map((rule) => rule.terms);
  if (terms.length > 0) return { decision: 'require_approval', terms };
  const allows = (rule: Rule): boolean => rule.decision === 'allow';
  return !about.some(allows) || matching.some(allows) ? { decision: 'allow' } : { decision: 'deny', rule: null };
}

/** When a call, or the session, stands still. Only rules that speak of that count: those that escalate, or ask for `dispatch.…`. */
export function judgeTrigger({ rules }: Policies, { tool, ...facts }: TriggerFacts): TriggerVerdict {
  const matching = rules.filter((rule) => {
    const speaks = rule.decision === 'escalate' || rule.condition?.asksDispatch === true;
    return speaks && isAbout(rule, tool) && isMatch(rule, facts);
  });
  if (matching.some(({ decision }) => decision === 'deny')) return { decision: 'fail' };
  const asking = matching.filter(({ decision }) => decision === 'escalate' || decision === 'require_approval');
  return asking.length === 0 ? { decision: 'fail' } : { decision: 'escalate', terms: asking.map((rule) => rule.terms) };
}

/** The terms as the receipts' own rule, where a plan's approval is judged. */
export function approvalRuleOf({ route, approvals }: ApprovalTerms): ApprovalRule {
  return route === null ? { approvals } : { approvals, roles: [route] };
}

function isAbout(rule: Rule, tool: Tool | null): boolean {
  if (rule.scope === 'tool') return tool !== null && names(rule, tool);
  return true;
}

function names({ allow }: Rule, tool: Tool): boolean {
  return allow.includes(tool.tool) || allow.includes(queueNameOf(tool));
}

const MATCHES_UNJUDGED: Record<Decision, boolean> = {
  allow: false,
  deny: true,
  require_approval: true,
  escalate: true,
};

function isMatch({ condition, decision }: Rule, facts: Facts): boolean {
  const truth = condition?.judge(facts) ?? 'true';
  return truth === 'unknown' ? MATCHES_UNJUDGED[decision] : truth === 'true';
}

const MEMBERS: Record<keyof PolicyRule, string> = {
  name: 'name',
  scope: 'scope',
  allow: 'allow',
  conditions: 'conditions',
  decision: 'decision',
  route: 'route',
  approvals: 'approvals',
  expiryMs: 'expiry_ms',
  onTimeout: 'on_timeout',
  onRejection: 'on_rejection',
};

function ruleToRecord(rule: PolicyRule): Dict {
  const fields = Object.entries(rule).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    fields.map(([member, value]) => [
      // A misspelt member keeps its name, and is refused by it.
      Object.hasOwn(MEMBERS, member) ? MEMBERS[member as keyof PolicyRule] : member,
      member === 'conditions' ? conditionToRecord(value as Condition) : value,
    ]),
  ) as Dict;
}

function ruleFrom(value: unknown, index: number): Rule {
  const unnamed = new Fields(value, `policies[${index}]`, 'invalid_policy');
  const name = unnamed.text('name', 'a name of letters, digits and ._:/-', isRuleName);
  const path = `policies.${name}`;
  const at = new Fields(value, path, 'invalid_policy');
  at.raw('name');
  const scope = at.oneOf('scope', SCOPES);
  const allow = at.optional('allow', (field) => at.list(field).map((tool) => toolAt(at, tool)), []);
  const condition = at.optional('conditions', (field) => compileCondition(at.raw(field), `${path}.${field}`), null);
  const decision = at.oneOf('decision', DECISIONS);
  if (scope === 'tool' && allow.length === 0) at.refuse('must name the tools that the rule is about', 'allow');
  const asks = decision === 'require_approval' || decision === 'escalate';
  const terms = termsFrom(at, name, path);
  const own = ['route', 'approvals', 'expiry_ms', 'on_timeout', 'on_rejection'].find((field) => at.has(field));
  if (!asks && own !== undefined) at.refuse(`says how people are asked; ${decision} asks nobody`, own);
  at.end();
  return { name, scope, allow, condition, decision, terms };
}

function termsFrom(at: Fields, rule: string, path: string): ApprovalTerms {
  const approvals = at.optional('approvals', (field) => at.count(field), 1);
  if (approvals < 1 || approvals > MOST_APPROVALS) at.refuse(`must be 1 to ${MOST_APPROVALS}`, 'approvals');
  const expiryMs = at.optional<number | null>('expiry_ms', (field) => at.count(field), null);
  const onTimeout = at.optional<OnTimeout>(
    'on_timeout',
    (field) => timeoutFrom(at.raw(field), `${path}.${field}`, 'invalid_policy'),
    'deny',
  );
  if (expiryMs === null && at.has('on_timeout')) at.refuse('follows "expiry_ms", which is missing', 'on_timeout');
  return {
    rule,
    route: at.optional<string | null>('route', (field) => at.text(field, 'a role', isRole), null),
    approvals,
    expiryMs,
    onTimeout,
    onRejection: at.optional<OnRejection>('on_rejection', (field) => at.oneOf(field, REJECTIONS), 'return_to_agent'),
  };
}

function toolAt(at: Fields, value: unknown): string {
  if (isToolName(value)) return value;
  if (typeof value !== 'string' || !value.includes('@'))
    return at.refuse('must list tools such as charge@1.0.0 or charge', 'allow');
  try {
    return queueNameOf(toolOfQueue(value));
  } catch {
    return at.refuse('must list tools such as charge@1.0.0 or charge', 'allow');
  }
}
