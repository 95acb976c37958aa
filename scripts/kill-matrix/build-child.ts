/**
 * Builds the programs that the matrix runs as processes, each into one file: some hundred workers are started, and reading
 * TypeScript in each would take longer than what they do. Invariant: packages are not built in; they are the installed ones.
 */
import path from 'node:path';
import { build } from 'esbuild';

const REPOSITORY_SRC = path.join(__dirname, '..', '..', 'src');

export const PROGRAMS = {
  worker: path.join(__dirname, 'worker-main.ts'),
  counting: path.join(REPOSITORY_SRC, 'testing', 'counting-server-main.ts'),
  fhir: path.join(REPOSITORY_SRC, 'testing', 'fhir-server-main.ts'),
} as const;
export type Program = keyof typeof PROGRAMS;

export async function buildChildren(
  folder: string,
  programs: Readonly<Record<string, string>> = PROGRAMS,
): Promise<void> {
  await build({
    entryPoints: programs,
    outdir: folder,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'error',
  });
}

export const programFile = (folder: string, program: Program): string => path.join(folder, `${program}.js`);
