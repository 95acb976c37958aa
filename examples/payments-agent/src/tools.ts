/** The agent's one tool, and what it may do by itself. */
import { defineTool, ToolOutcomeUnknown, type PolicyRule } from 'countersign';
import { z } from 'zod';

export const TASK_QUEUE = 'payments-agent';
export const TREASURER = 'role:example.org/treasurer';

/** Pays at a bank that takes no key, and that nobody can ask what it has booked. */
export const pay = defineTool({
  tool: 'pay',
  version: '1.0.0',
  sideEffect: 'irreversible_action',
  inputSchema: z.object({ to: z.string(), amount: z.int().positive() }).describe('Pays an invoice.'),
  deadlineMs: 3_000,
  settleMs: 500,
  async run(payment, { signal }) {
    const answer = await fetch(`${process.env.BANK_URL ?? ''}/payments`, {
      method: 'POST',
      body: JSON.stringify(payment),
      signal,
    });
    if (!answer.ok) throw new ToolOutcomeUnknown(`the bank answers ${answer.status}`);
    return (await answer.json()) as { booking: number };
  },
});

export const toolPolicies: readonly PolicyRule[] = [
  {
    name: 'no-strangers',
    scope: 'tool',
    allow: ['pay'],
    decision: 'deny',
    conditions: { not: { field: 'to', op: 'in', value: ['the paper mill', 'the print shop', 'the landlord'] } },
  },
  {
    name: 'large-payments',
    scope: 'tool',
    allow: ['pay'],
    decision: 'require_approval',
    conditions: { field: 'amount', op: 'gte', value: 500 },
    route: TREASURER,
  },
];
