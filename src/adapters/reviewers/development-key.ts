/**
 * A reviewer for development: one local key that may decide anything. Invariant: it is said wherever it is used, and it names
 * nobody: its person and role are of a domain that can never exist.
 */
import { jwksFromBytes } from '../../rules/receipts/jwks';
import { publicEntry, type SigningKey } from '../../rules/receipts/signing-key';
import type { Reviewers } from '../../ports';
import { CustodyError } from './custody-error';
import { KeyFolder, defaultKeyFolder } from './key-folder';

export const DEVELOPMENT_PERSON = 'person:development.invalid/developer';
export const DEVELOPMENT_ROLE = 'role:development.invalid/reviewer';

export interface DevelopmentKey {
  readonly name: string;
  readonly key: SigningKey;
  /** Knows this key alone. */
  readonly reviewers: Reviewers;
  /** Whether it was made now. */
  readonly made: boolean;
  /** One sentence to print or log. */
  readonly notice: string;
}

/** The development key of a folder, made when it is not there yet. */
export async function developmentKey(folder: string = defaultKeyFolder()): Promise<DevelopmentKey> {
  const keys = new KeyFolder(folder);
  const name = 'development';
  const { key, made } = await keys.make(name, DEVELOPMENT_PERSON, [DEVELOPMENT_ROLE]).then(
    (fresh) => ({ key: fresh, made: true }),
    async (fault: unknown) => {
      if (fault instanceof CustodyError && fault.code === 'key_exists')
        return { key: await keys.read(name), made: false };
      throw fault;
    },
  );
  const jwks = jwksFromBytes(JSON.stringify({ keys: [publicEntry(key)] }));
  return {
    name,
    key,
    reviewers: { load: async () => jwks },
    made,
    notice:
      `approvals are checked against the development key ${key.kid} alone: whoever holds it decides everything; ` +
      'give the plugin "reviewers" before anything real depends on it',
  };
}
