/**
 * A bucket as one text: `s3://bucket/prefix?endpoint=https://host:port&region=eu-central-1&path_style=false&allow_http=true`.
 *
 * Invariant: an address holds no credentials; one that does, or that says anything unknown, is refused and not quoted.
 */
import { StoreError } from '../../ports';
import { connectionFault, type S3Connection } from '../s3/s3-connection';

const SCHEME = 's3://';
const FIELDS: Readonly<Record<string, (value: string) => Partial<S3Connection>>> = {
  endpoint: (endpoint) => ({ endpoint }),
  region: (region) => ({ region }),
  path_style: (value) => ({ pathStyle: flag(value) }),
  allow_http: (value) => ({ allowHttp: flag(value) }),
};

/** Whether it begins like `s3://bucket/prefix`. */
export const isS3Address = (address: string): boolean => address.toLowerCase().startsWith(SCHEME);

/** Reads `s3://bucket/prefix?endpoint=…&region=…`; throws a `StoreError` that does not repeat it. */
export function parseS3Address(address: string): S3Connection {
  if (!isS3Address(address) || !URL.canParse(address))
    throw refused('write it as s3://bucket/prefix?endpoint=…&region=…');
  const url = new URL(address);
  if (url.username !== '' || url.password !== '')
    throw refused('credentials do not belong into it; give them by AWS_*');
  if (url.port !== '' || url.hash !== '')
    throw refused('it has a bucket and a prefix only; a host goes into endpoint=…');
  const prefix = url.pathname.replace(/^\/|\/$/g, '');
  let connection: S3Connection = { bucket: url.hostname, ...(prefix === '' ? {} : { prefix }) };
  for (const [name, value] of url.searchParams) {
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    if (field === undefined) throw refused(`behind the question mark it may say ${Object.keys(FIELDS).join(', ')}`);
    connection = { ...connection, ...field(value) };
  }
  const fault = connectionFault(connection);
  if (fault !== null) throw refused(fault);
  return connection;
}

function flag(value: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  throw refused('path_style and allow_http are true or false');
}

function refused(why: string): StoreError {
  return new StoreError('store_invalid_path', `the address of the S3 store was refused: ${why}`);
}
