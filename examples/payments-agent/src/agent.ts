/** What the agent says, written down beforehand. A real model is one line: `aiSdkModel({ model: openai('gpt-5') })`. */
import type { ModelRequest } from 'countersign';
import { scriptedModel } from 'countersign/models';

export const model = scriptedModel({
  script: [
    {
      text: 'Three invoices are due.',
      toolCalls: [
        { tool: 'pay', args: { to: 'the paper mill', amount: 40 } },
        { tool: 'pay', args: { to: 'the print shop', amount: 900 } },
        { tool: 'pay', args: { to: 'a stranger', amount: 5 } },
      ],
    },
    { text: 'One is left.', toolCalls: [{ tool: 'pay', args: { to: 'the landlord', amount: 300 } }] },
    (request) => ({ text: `${paidIn(request)} of 4 invoices are paid.` }),
  ],
});

function paidIn({ messages }: ModelRequest): number {
  const results = messages.flatMap((message) => (message.role === 'tool' ? message.results : []));
  return results.filter(({ ok }) => ok).length;
}
