/**
 * The program in `go/`, built from the Go module proxy and kept below `node_modules/.cache/countersign`. Invariant: what is run was
 * built from the very sources that stand there, by the version of Go that is there.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Missing, Running } from '../systems/system';
import { cachedBuild } from '../systems/cached-build';

const SOURCES = path.join(__dirname, 'go');

export interface Claim {
  readonly size: number;
  readonly root: string;
  /** Of an inclusion proof. */
  readonly index?: number;
  readonly leaf?: string;
  /** Of a consistency proof. */
  readonly older?: number;
  readonly first?: string;
  readonly proof: readonly string[];
}

export interface GoAnswer {
  readonly ok: boolean;
  readonly error?: string;
  readonly root?: string;
  readonly holds?: readonly boolean[];
  readonly cases?: readonly Claim[];
  readonly names?: readonly string[];
  readonly line?: string;
  readonly verifier?: string;
}

export interface GoLog extends Running {
  ask(request: { readonly op: string } & Readonly<Record<string, unknown>>): GoAnswer;
}

export async function startGoLog(): Promise<GoLog | Missing> {
  const version = spawnSync('go', ['version'], { encoding: 'utf8' });
  if (version.status !== 0) {
    return { missing: 'Go cannot be run; install Go 1.24 or newer to compare anchors with golang.org/x/mod' };
  }
  const hash = createHash('sha256').update(version.stdout);
  for (const name of ['main.go', 'go.mod', 'go.sum']) hash.update(readFileSync(path.join(SOURCES, name)));
  const folder = cachedBuild(`anchors-go-${hash.digest('hex').slice(0, 16)}`, (target) => {
    const built = spawnSync(
      'go',
      ['build', '-mod=readonly', '-buildvcs=false', '-o', path.join(target, 'anchors'), '.'],
      {
        cwd: SOURCES,
        encoding: 'utf8',
      },
    );
    if (built.status !== 0) throw new Error(`go build failed: ${built.stderr}`);
  });
  return {
    ask: (request) => {
      const input = JSON.stringify(request);
      const ran = spawnSync(path.join(folder, 'anchors'), { input, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 });
      return JSON.parse(ran.stdout) as GoAnswer;
    },
    end: () => Promise.resolve(),
  };
}
