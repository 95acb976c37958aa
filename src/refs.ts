/**
 * Content by reference. Invariant: what a Ref stands for is durable in the content store before anyone holds the Ref.
 */
import { Contents } from './activities/contents';
import type { Store } from './ports';
import { refTo, type Ref } from './rules/calls/ref';

/** Stores content and answers the Ref that may stand in its place, as input of a workflow or argument of an effect. */
export async function putContent<T>(contents: Store, content: T): Promise<Ref<T>> {
  return refTo<T>(await new Contents(contents).putContent(content));
}

/** What a Ref stands for; throws `Refusal` `content_missing` when the store does not hold it. */
export async function readContent<T>(contents: Store, ref: Ref<T>): Promise<T> {
  return (await new Contents(contents).content(ref.countersign_ref)) as T;
}
