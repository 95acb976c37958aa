/**
 * Nonce and times, which every receipt has. Invariant: times are whole seconds, and a receipt counts only before its `exp`.
 */
import type { Dict, Fields } from '../fields';
import { isNonce } from './names';

export interface ReceiptTimes {
  /** The nonce: one use under one key. */
  readonly jti: string;
  /** Seconds since 1970. */
  readonly iat: number;
  /** Seconds since 1970; the receipt is valid before this moment only. */
  readonly exp: number;
}

/** Midnight before the year 10000: larger times are no times. */
const LAST_SECOND = 253_402_300_799;

export function timesFrom(at: Fields): ReceiptTimes {
  return {
    jti: at.text('jti', '"nonce_" and 32 lowercase hex digits', isNonce),
    iat: seconds(at, 'iat'),
    exp: seconds(at, 'exp'),
  };
}

export function timesToRecord({ jti, iat, exp }: ReceiptTimes): Dict {
  return { jti, iat, exp };
}

function seconds(at: Fields, field: string): number {
  const value = at.count(field);
  return value <= LAST_SECOND ? value : at.refuse('must be whole seconds since 1970', field);
}
