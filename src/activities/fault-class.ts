/**
 * The class of what somebody's code threw, as a log may hold it. Invariant: a plain word; messages, and whatever else hangs on an error,
 * may quote content or a credential.
 */
const WORD = /^[A-Za-z0-9_$]{1,64}$/;

export function faultClass(fault: unknown): string {
  if (!(fault instanceof Error)) return typeof fault;
  const { name } = fault.constructor;
  return WORD.test(name) ? name : 'Error';
}
