/**
 * What sessions, the queues of their tools, and the calls that people are asked about can be found by in Temporal. Invariant: ids, names
 * and states only: a search attribute is never encrypted.
 */
import { queueNameOf, type Tool } from './names';

/** On the workflow that carries a session, and on those of its calls. */
export const SESSION_ATTRIBUTE = { name: 'CountersignSession', type: 'KEYWORD' } as const;
/** Where a session stands. */
export const STATUS_ATTRIBUTE = { name: 'CountersignStatus', type: 'KEYWORD' } as const;
/** As `charge@1.0.0`: of a session, the tools of its open calls; of a queue, and of the workflow of a call, its own. */
export const TOOLS_ATTRIBUTE = { name: 'CountersignTools', type: 'KEYWORD_LIST' } as const;

export const SEARCH_ATTRIBUTES = [SESSION_ATTRIBUTE, STATUS_ATTRIBUTE, TOOLS_ATTRIBUTE] as const;

type Pair =
  | { key: typeof SESSION_ATTRIBUTE | typeof STATUS_ATTRIBUTE; value: string }
  | { key: typeof TOOLS_ATTRIBUTE; value: string[] };

export function attributesOfSession(session: string): Pair[] {
  return [
    { key: SESSION_ATTRIBUTE, value: session },
    { key: STATUS_ATTRIBUTE, value: 'pending' },
  ];
}

export function attributesOfQueue(tool: Tool): Pair[] {
  return [{ key: TOOLS_ATTRIBUTE, value: [queueNameOf(tool)] }];
}

export function attributesOfCall(session: string, tool: Tool): Pair[] {
  return [{ key: SESSION_ATTRIBUTE, value: session }, ...attributesOfQueue(tool)];
}
