/**
 * A real Chromium for tests: the one that is named, the one of this machine, or the one that comes with a package.
 *
 * Invariant: it is driven with its own profile, which is gone afterwards; libraries that this machine lacks come with the package, too.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { chromium, type Browser } from 'playwright-core';
import { cachedBuild } from './cached-build';
import type { Missing, Running } from './system';

export interface ChromiumSystem extends Running {
  readonly browser: Browser;
}

const PACKED = path.resolve(__dirname, '../../node_modules/@sparticuz/chromium');
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** A sandbox of its own needs rights that root in a container lacks; what is shown here is ours. */
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--font-render-hinting=none'];

export async function startChromium(): Promise<ChromiumSystem | Missing> {
  let found: Found | null;
  try {
    found = named() ?? packed() ?? installed();
  } catch (fault) {
    return { missing: `Chromium cannot be unpacked (${fault instanceof Error ? fault.message : 'no reason given'})` };
  }
  if (found === null) {
    return { missing: 'there is no Chromium for this machine; install one, or name it in CHROMIUM_PATH' };
  }
  try {
    const env = { ...process.env, ...found.env } as Record<string, string>;
    const browser = await chromium.launch({ executablePath: found.program, args: ARGUMENTS, env });
    return { browser, end: () => browser.close() };
  } catch (fault) {
    const [why = ''] = (fault instanceof Error ? fault.message : '').split('\n');
    return { missing: `${path.basename(found.program)} does not start (${why}); name another in CHROMIUM_PATH` };
  }
}

interface Found {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

function named(): Found | null {
  const program = process.env['CHROMIUM_PATH'] ?? '';
  return program === '' ? null : { program, env: {} };
}

function installed(): Found | null {
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    const program = NAMES.map((name) => path.join(folder, name)).find((file) => existsSync(file));
    if (program !== undefined) return { program, env: {} };
  }
  return null;
}

/** One version everywhere, so that what passes here passes in CI; for Linux on x64 only. */
function packed(): Found | null {
  if (process.platform !== 'linux' || process.arch !== 'x64' || !existsSync(PACKED)) return null;
  const { version } = JSON.parse(readFileSync(path.join(PACKED, 'package.json'), 'utf8')) as { version: string };
  const folder = cachedBuild(`chromium-${version}`, unpack);
  const libraries = path.join(folder, 'lib');
  const fonts = path.join(folder, 'fonts.conf');
  const program = path.join(folder, 'chromium');
  const lacks = execFileSync('ldd', [program], { encoding: 'utf8' }).includes('not found');
  return { program, env: { FONTCONFIG_FILE: fonts, ...(lacks ? { LD_LIBRARY_PATH: libraries } : {}) } };
}

/** Those of this machine, and those of the package where there are none. */
const FONTS = `<?xml version="1.0"?><fontconfig>
<dir>/usr/share/fonts</dir><dir prefix="relative">fonts</dir><cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>`;

function unpack(folder: string): void {
  const opened = (name: string): Buffer => brotliDecompressSync(readFileSync(path.join(PACKED, 'bin', name)));
  writeFileSync(path.join(folder, 'chromium'), opened('chromium.br'), { mode: 0o755 });
  mkdirSync(path.join(folder, 'fonts'), { recursive: true });
  writeFileSync(path.join(folder, 'fonts.conf'), FONTS);
  for (const name of ['al2023.tar.br', 'fonts.tar.br']) {
    execFileSync('tar', ['-x', '-C', folder, '--exclude', 'fonts.conf'], {
      input: opened(name),
      maxBuffer: 64 * 1024 * 1024,
    });
  }
}
