/**
 * Which requests an inbox answers at all, and under which headers. Invariant: nothing is answered under a name that is not ours, so no
 * page of another site can make it ours by its DNS; nothing is changed, or read by a script, for a page of another origin, another
 * port of this machine included.
 */

/** What the guard looks at. Names of headers are those of the browser. */
export interface Asked {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`, `Sec-Fetch-Mode`, `Sec-Fetch-Dest`: absent of what is no browser. */
  readonly site: string | undefined;
  readonly mode: string | undefined;
  readonly dest: string | undefined;
}

export interface Denied {
  readonly status: 403 | 405 | 421;
  readonly code: 'host_unknown' | 'origin_foreign' | 'method_unknown';
  readonly message: string;
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const OWN_SITES: ReadonlySet<string | undefined> = new Set([undefined, 'same-origin', 'none']);

/** Null when it may be answered. `origins` are the ones under which this inbox is reached. */
export function denied(asked: Asked, origins: ReadonlySet<string>): Denied | null {
  const hosts = new Set([...origins].map((origin) => new URL(origin).host));
  if (asked.host === undefined || !hosts.has(asked.host.toLowerCase())) {
    return { status: 421, code: 'host_unknown', message: 'This inbox is not reached under that name.' };
  }
  if (READS.has(asked.method)) {
    // A link on another page may lead here; what it leads to is shown without a cookie, as that is of this site only.
    const followsLink = asked.mode === 'navigate' && asked.dest === 'document';
    return OWN_SITES.has(asked.site) || followsLink ? null : foreign();
  }
  if (asked.method !== 'POST') {
    return { status: 405, code: 'method_unknown', message: 'An inbox takes GET, HEAD and POST only.' };
  }
  const own = asked.origin !== undefined && origins.has(asked.origin) && OWN_SITES.has(asked.site);
  return own ? null : foreign();
}

function foreign(): Denied {
  return { status: 403, code: 'origin_foreign', message: 'This inbox answers its own pages only.' };
}

/** Scripts and styles come from here only, and never stand in a page; nothing else is loaded, framed or sent anywhere. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types countersign-pages',
].join('; ');

/** Of every answer, whatever it is. */
export const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Not "no-referrer": a browser then hides the origin of our own forms, too.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};
