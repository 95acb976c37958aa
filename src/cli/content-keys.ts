/**
 * The content store as a command opens it. Invariant: what is encrypted is never read or added to without its keys, so a
 * forgotten option says so, and leaves no plain entry among the encrypted ones.
 */
import { contentKeysFromFile, encryptedContents } from '../adapters/stores';
import { isEncrypted } from '../adapters/stores/encrypted-contents';
import type { ContentStore } from '../ports';
import { checkedStore } from './checked-store';
import { CliError } from './failure';

export function withContentKeys(store: ContentStore, keyRing: string | undefined): ContentStore {
  if (keyRing !== undefined && keyRing !== '') {
    return encryptedContents(store, contentKeysFromFile(keyRing));
  }
  return checkedStore(store, () => refuseEncrypted(store));
}

async function refuseEncrypted(store: ContentStore): Promise<void> {
  if (!(await isEncrypted(store))) return;
  const reason = 'the content store is encrypted; name its key ring: --content-keys FILE, or COUNTERSIGN_CONTENT_KEYS';
  throw new CliError('invalid_argument', reason, 'content_keys');
}
