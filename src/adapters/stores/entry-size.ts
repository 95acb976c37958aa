/** How large an entry may be. Invariant: every kind of store refuses the same, in the same words, before it writes and before it reads. */
import { StoreError } from '../../ports';

export const DEFAULT_MAX_ENTRY_BYTES = 16 * 1024 * 1024;

export function tooLarge(entry: string, maxEntryBytes: number): StoreError {
  return new StoreError(
    'store_entry_too_large',
    `"${entry}" is larger than the ${maxEntryBytes} bytes that this store takes; split it or raise the limit`,
  );
}
