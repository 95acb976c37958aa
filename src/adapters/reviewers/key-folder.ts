/**
 * A person's own keys: one private JWK a file, in a folder of theirs. Invariant: a key is whole and for its owner alone from the
 * moment that its name appears, and no key is ever replaced by another.
 */
import { randomBytes } from 'node:crypto';
import { link, lstat, mkdir, open, readdir, unlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {
  makeSigningKey,
  signingKeyFromBytes,
  signingKeyToText,
  type SigningKey,
} from '../../rules/receipts/signing-key';
import { CustodyError } from './custody-error';
import { readOwnFile } from './own-file';

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/i;
const ENDING = '.jwk';
const MOST_BYTES = 65_536;
const WRITABLE_BY_OTHERS = 0o022;

export interface NamedKey {
  readonly name: string;
  readonly key: SigningKey;
}

export function defaultKeyFolder(): string {
  return path.join(os.homedir(), '.countersign', 'keys');
}

export class KeyFolder {
  constructor(readonly folder: string) {}

  /** Makes a key. Throws `key_exists` when the name is taken, and leaves that key as it is. */
  async make(name: string, person: string, roles: readonly string[]): Promise<SigningKey> {
    const file = this.fileOf(name);
    const key = makeSigningKey(new Uint8Array(randomBytes(32)), person, roles);
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await this.refuseOpenFolder();
    const draft = path.join(this.folder, `.${randomBytes(8).toString('hex')}.new`);
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(`${signingKeyToText(key)}\n`);
      await handle.sync();
      // Of two who make one name at once, one gets it.
      await link(draft, file);
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'EEXIST') throw fault;
      throw new CustodyError(
        'key_exists',
        `there is a key ${name} already; choose another name, keys are never replaced`,
      );
    } finally {
      await handle.close();
      await unlink(draft);
    }
    return key;
  }

  async read(name: string): Promise<SigningKey> {
    const file = this.fileOf(name);
    await this.refuseOpenFolder();
    const there = await lstat(file).catch(() => null);
    if (there === null) throw new CustodyError('key_unknown', `there is no key ${name} in ${this.folder}`);
    const bytes = await readOwnFile(file, MOST_BYTES);
    try {
      return signingKeyFromBytes(bytes);
    } catch {
      throw new CustodyError('key_invalid', `${file} is not a private key as "countersign keys new" makes it`);
    }
  }

  /** In order of their names. A folder that is not there has no keys. */
  async list(): Promise<readonly NamedKey[]> {
    const entries = await readdir(this.folder).catch((fault: NodeJS.ErrnoException) => {
      if (fault.code === 'ENOENT') return [];
      throw new CustodyError('input_unreadable', `${this.folder} cannot be listed`);
    });
    const names = entries.filter((entry) => entry.endsWith(ENDING)).map((entry) => entry.slice(0, -ENDING.length));
    const keys: NamedKey[] = [];
    for (const name of names.filter((one) => NAME.test(one)).sort()) keys.push({ name, key: await this.read(name) });
    return keys;
  }

  private fileOf(name: string): string {
    if (NAME.test(name) && !name.endsWith('.')) return path.join(this.folder, `${name}${ENDING}`);
    const rule =
      'a key’s name is up to 63 letters, digits, dots, dashes and underscores, and begins with a letter or digit';
    throw new CustodyError('key_name_invalid', rule);
  }

  /** Whoever can change the folder can put a key of theirs under a name of ours. */
  private async refuseOpenFolder(): Promise<void> {
    const stat = await lstat(this.folder).catch(() => null);
    if (stat === null || process.getuid === undefined) return;
    if (stat.isDirectory() && stat.uid === process.getuid() && (stat.mode & WRITABLE_BY_OTHERS) === 0) return;
    const rule = 'must be a folder of yours that nobody else can change (chmod 700)';
    throw new CustodyError('input_unprotected', `${this.folder} ${rule}`);
  }
}
