/**
 * What a request to an S3 server came to when it did not succeed: a closed set of kinds.
 *
 * Invariant: `absent` is only said when the server says by name that this key does not exist (a bare 404 may come from a proxy or
 * speak of the bucket), and `not_sent` only when no request can have left. Nothing that a server said is carried along but its
 * status: its texts quote keys and contents.
 */
export const S3_FAULTS = [
  /** A conditional request found an object there (412). */
  'exists',
  /** Another conditional write of this key is under way (409). */
  'contended',
  'absent',
  'no_bucket',
  /** Something else stands in the place of a folder or of an object. */
  'in_the_way',
  'denied',
  'too_large',
  'full',
  'not_supported',
  /** The server or something before it failed, or is too busy (429, 5xx). */
  'busy',
  /** The server refused the request itself (another 4xx). */
  'rejected',
  'no_credentials',
  'not_sent',
  /** Reset, timed out, garbled: nobody knows. */
  'lost',
] as const;
export type S3FaultKind = (typeof S3_FAULTS)[number];

export interface S3FaultDetails {
  readonly status?: number | undefined;
  /** An errno, or one of the names of `NAMED`. */
  readonly name?: string | undefined;
  readonly deleteMarker?: boolean;
}

export class S3Fault extends Error {
  override readonly name = 'S3Fault';
  readonly status: number | undefined;
  readonly said: string | undefined;
  /** The newest version of the key is the mark of a deletion: something was there before. */
  readonly deleteMarker: boolean;

  constructor(
    readonly kind: S3FaultKind,
    details: S3FaultDetails = {},
  ) {
    super(kind);
    this.status = details.status;
    this.said = details.name;
    this.deleteMarker = details.deleteMarker ?? false;
  }

  /** Status and name for a message. */
  get detail(): string {
    const parts = [this.status === undefined ? [] : `status ${this.status}`, this.said ?? []].flat();
    return parts.length > 0 ? parts.join(' ') : this.kind;
  }
}

/** Names of errors that mean one thing wherever they come from. */
const NAMED: Readonly<Record<string, S3FaultKind>> = {
  PreconditionFailed: 'exists',
  ConditionalRequestConflict: 'contended',
  OperationAborted: 'contended',
  NoSuchKey: 'absent',
  NoSuchBucket: 'no_bucket',
  ObjectParentIsFile: 'in_the_way',
  ExistingObjectIsDirectory: 'in_the_way',
  AccessDenied: 'denied',
  InvalidAccessKeyId: 'denied',
  SignatureDoesNotMatch: 'denied',
  ExpiredToken: 'denied',
  RequestTimeTooSkewed: 'denied',
  EntityTooLarge: 'too_large',
  KeyTooLongError: 'rejected',
  MetadataTooLarge: 'rejected',
  RequestHeaderSectionTooLarge: 'rejected',
  InsufficientStorage: 'full',
  QuotaExceeded: 'full',
  NotImplemented: 'not_supported',
  MethodNotAllowed: 'not_supported',
  SlowDown: 'busy',
  ServiceUnavailable: 'busy',
  InternalError: 'busy',
  RequestTimeout: 'lost', // the server gave up reading a body, at a moment that we do not know
};

/** Of answers without a name that we know; 404 is left out on purpose. */
function byStatus(status: number): S3FaultKind {
  if (status === 412) return 'exists';
  if (status === 409) return 'contended';
  if (status === 401 || status === 403) return 'denied';
  if (status === 413) return 'too_large';
  if (status === 507) return 'full';
  if (status === 501 || status === 405) return 'not_supported';
  if (status === 429 || status >= 500) return 'busy';
  return status >= 400 && status !== 404 ? 'rejected' : 'lost';
}

/** Faults before any byte of a request has left. */
const NOT_SENT: Readonly<Record<string, readonly string[] | 'always'>> = {
  ECONNREFUSED: 'always',
  ENOTFOUND: ['getaddrinfo'],
  EAI_AGAIN: ['getaddrinfo'],
  EHOSTUNREACH: ['connect'],
  ENETUNREACH: ['connect'],
  ETIMEDOUT: ['connect'],
};
const NO_CREDENTIALS = new Set(['CredentialsProviderError', 'TokenProviderError']);

/** What the SDK's error means. */
export function s3Fault(error: unknown): S3Fault {
  if (error instanceof S3Fault) return error;
  const {
    name = '',
    code = '',
    syscall,
    $metadata,
    $response,
  } = (error ?? {}) as {
    name?: string;
    code?: string;
    syscall?: string;
    $metadata?: { httpStatusCode?: number };
    $response?: { headers?: Record<string, string> };
  };
  const status = $metadata?.httpStatusCode;
  if (status !== undefined) {
    const named = Object.hasOwn(NAMED, name) ? NAMED[name] : undefined;
    // A name alone could stand in any page; it counts with a status of its class.
    const kind = status >= 400 ? (named ?? byStatus(status)) : 'lost';
    const deleteMarker = $response?.headers?.['x-amz-delete-marker'] === 'true';
    return new S3Fault(kind, { status, name: named === undefined ? undefined : name, deleteMarker });
  }
  if (NO_CREDENTIALS.has(name)) return new S3Fault('no_credentials');
  const before = Object.hasOwn(NOT_SENT, code) ? NOT_SENT[code] : undefined;
  const errno = /^[A-Z_]{3,40}$/.test(code) ? code : undefined;
  const left = before === undefined || (before !== 'always' && !before.includes(syscall ?? ''));
  return new S3Fault(left ? 'lost' : 'not_sent', { name: errno });
}
