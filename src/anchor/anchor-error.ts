/** Why an anchor log cannot be written, co-signed or used. Invariant: a message names the log's place and the fault, never a key. */
export const ANCHOR_ERROR_CODES = [
  'anchor_missing',
  'anchor_wrong_journal',
  'anchor_wrong_key',
  'anchor_not_alone',
  'anchor_damaged',
  'anchor_unsigned',
  'anchor_split_view',
  'anchor_checkpoint_old',
  'anchor_head_unknown',
] as const;
export type AnchorErrorCode = (typeof ANCHOR_ERROR_CODES)[number];

export class AnchorError extends Error {
  override readonly name = 'AnchorError';
  constructor(
    readonly code: AnchorErrorCode,
    message: string,
  ) {
    super(message);
  }
}
