/** What is wrong with a file of keys. Invariant: a message names the file and the fault, never anything that it holds. */
export type CustodyErrorCode =
  /** Not there, not a regular file, or not to be opened. */
  | 'input_unreadable'
  /** Somebody else owns it, or may read or change it. */
  | 'input_unprotected'
  /** Larger than such a file can be. */
  | 'input_limit'
  | 'key_name_invalid'
  | 'key_exists'
  | 'key_unknown'
  | 'key_invalid';

export class CustodyError extends Error {
  override readonly name = 'CustodyError';
  constructor(
    readonly code: CustodyErrorCode,
    message: string,
  ) {
    super(message);
  }
}
