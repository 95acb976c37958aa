/**
 * Client libraries of adapters: optional peers, loaded by the adapter that is made, so that nobody installs a client for a
 * system that they do not have.
 *
 * Invariant: importing an entry of this package never needs an optional peer; making an adapter without its peer fails at
 * once, by a sentence that says what to install.
 */
export class MissingPeerError extends Error {
  override readonly name = 'MissingPeerError';
  readonly code = 'peer_missing';
  constructor(
    readonly adapter: string,
    readonly peer: string,
    options?: { cause?: unknown },
  ) {
    super(
      `peer_missing: ${adapter} needs the package "${peer}", which is not installed; run npm install ${peer}`,
      options,
    );
  }
}

/** `load` is `() => require('the-package')`, written where it is used so that bundlers and people can see it. */
export function optionalPeer<T>(adapter: string, peer: string, load: () => T): T {
  try {
    return load();
  } catch (fault) {
    const { code, message } = fault as { code?: unknown; message?: unknown };
    const missing = code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';
    // A package that is there but whose own dependency is missing must not be told as not installed.
    if (missing && String(message).includes(`'${peer}`)) throw new MissingPeerError(adapter, peer, { cause: fault });
    throw fault;
  }
}
