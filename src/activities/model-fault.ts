/**
 * What a model threw, as histories may hold it. Invariant: a provider's message may quote what the user said, or a part of a key; what is
 * told on is the kind of the fault, its status and its code, each a plain word.
 */
const WORD = /^[A-Za-z0-9_.-]{1,64}$/;

export function modelFault(model: string, fault: unknown): Error {
  const { name, statusCode, status = statusCode, code } = (fault ?? {}) as Readonly<Record<string, unknown>>;
  const words = [name, status, code].flatMap((word) => (WORD.test(String(word ?? '')) ? [String(word)] : []));
  const kind = words.length === 0 ? '' : ` (${words.join(', ')})`;
  return new Error(`the model "${model}" gave no answer${kind}`);
}
