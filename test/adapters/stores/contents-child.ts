/**
 * A process that works on an encrypted content store. Arguments: the root, the key ring's file, what to do (`rotate`, or `create`
 * of an entry), and at which call of the store beneath it kills itself: `3-` before the third, `3+` after it.
 */
import { contentKeysFromFile, encryptedContents, fileStore, rotateContentKeys } from '../../../src/adapters/stores';
import { type ContentStore } from '../../../src/ports';
import { bytes } from './values';

const [root, ring, act, killAt] = process.argv.slice(2) as [string, string, string, string];
let calls = 0;

const store = fileStore(root);
const killed = new Proxy(store as ContentStore, {
  get(target, name) {
    const value: unknown = Reflect.get(target, name, target);
    if (typeof value !== 'function') return value;
    return async (...args: readonly unknown[]): Promise<unknown> => {
      calls += 1;
      const call = calls;
      if (killAt === `${call}-`) process.kill(process.pid, 'SIGKILL');
      const answer: unknown = await value.apply(target, args);
      if (killAt === `${call}+`) process.kill(process.pid, 'SIGKILL');
      return answer;
    };
  },
});

const work =
  act === 'rotate'
    ? rotateContentKeys(killed, contentKeysFromFile(ring))
    : encryptedContents(killed, contentKeysFromFile(ring)).create(act, bytes('content of a child'));
process.on('message', () => undefined);
work.then(
  (done) => process.send?.({ value: { done, calls } }, () => process.exit()),
  (fault: { code?: string; message: string }) =>
    process.send?.({ code: fault.code, message: fault.message }, () => process.exit()),
);
