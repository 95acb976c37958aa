/**
 * Where an S3 bucket is and how to get in, in our own words.
 *
 * Invariant: no type of the AWS SDK appears here, and no connection is described that would show credentials on the wire: plain
 * http is for a server on this machine, or for whoever says so.
 */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** When they end; asked for again in time. */
  readonly expiration?: Date;
}

/** A bucket, the server that has it, and how to get in. */
export interface S3Connection {
  readonly bucket: string;
  /** Folder inside the bucket, without slashes around it. @default the whole bucket */
  readonly prefix?: string;
  /** Address of a server that is not AWS, as in `https://s3.example.org`. @default AWS */
  readonly endpoint?: string;
  /** @default AWS_REGION and the profile, as the SDK finds it; 'us-east-1' with an endpoint */
  readonly region?: string;
  /** Asked for when they are needed and kept until they expire. @default the SDK's chain: AWS_* variables, profile, instance role */
  readonly credentials?: () => Promise<S3Credentials> | S3Credentials;
  /** The bucket in the path instead of in the host name. @default true with an endpoint */
  readonly pathStyle?: boolean;
  /** Speak plain http with another machine. @default false */
  readonly allowHttp?: boolean;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/** Why a connection is refused, as a sentence; null when it is sound. Nothing that was given is quoted. */
export function connectionFault({ bucket, endpoint, allowHttp }: S3Connection): string | null {
  if (!BUCKET.test(bucket))
    return 'a bucket is named by 3 to 63 lower-case letters, digits, dots and hyphens; correct it';
  if (endpoint === undefined) return null;
  if (!URL.canParse(endpoint)) return 'the endpoint is no address; write it as https://host:port';
  const { protocol, hostname, username, password, pathname, search } = new URL(endpoint);
  if (username !== '' || password !== '')
    return 'credentials do not belong into the endpoint; give them by the callback or AWS_*';
  if ((pathname !== '/' && pathname !== '') || search !== '')
    return 'the endpoint has a host and a port only; correct it';
  if (protocol === 'https:') return null;
  if (protocol !== 'http:') return 'the endpoint must begin with https://; correct it';
  if (allowHttp === true || LOOPBACK.test(hostname)) return null;
  return 'plain http would show every request to the network; use https, or set allowHttp where the network is trusted';
}

/** Key of an entry or object below the prefix. */
export const keyBelow = (prefix: string | undefined, path: string): string =>
  prefix === undefined || prefix === '' ? path : `${prefix}/${path}`;
