/**
 * What comes next in a session, in words. Invariant: it is what the rules make of the log; a step is named as the rules name it, and a call
 * by its id.
 */
import type { CallAction, SessionStep } from '../rules/invocations/next-session-step';

const ACTIONS: Record<CallAction, string> = {
  begin: 'is to be sent to its tool',
  enqueue: 'waits for a worker',
  wait_for_people: 'waits for an approval',
  ask_next: 'is to be asked of others',
  send_approved: 'is approved, and to be sent to its tool',
  reject: 'is rejected, and to be told to the model',
  resend: 'is with a worker; if it does not come back, it is sent again',
  look_up: 'is with a worker; if it does not come back, it is looked up',
  keep_review: 'is in doubt: a person has to say what became of it',
  give_up: 'is to be given up',
  settle: 'is to be ended',
};

export function wordsOfStep(step: SessionStep): string {
  switch (step.does) {
    case 'start':
      return 'begin';
    case 'wait_for_input':
      return 'wait for a message of the user';
    case 'ask_model':
      return `ask the model: turn ${step.turn}, round ${step.round}`;
    case 'limit':
      return `stop at the limit of ${step.limit}, or ask people about it`;
    case 'request_calls':
      return `record ${step.indexes.length} calls of the last answer`;
    case 'go_on':
      return step.calls.map(({ callId, action }) => `${callId} ${ACTIONS[action]}`).join('; ');
    case 'wait_for_people':
      return 'wait for people, who are asked about a limit';
    case 'complete':
      return 'complete';
    case 'cancel':
      return 'cancel';
    case 'nothing':
      return 'nothing';
  }
}
