/**
 * The fields that records of sessions share. Invariant: a field is read in one way everywhere, and a text that could hold content is
 * none of them.
 */
import type { Fields } from '../fields';
import { isDigest } from '../recovery';
import { isCallId, isRuleName, isToolVersion, DEFAULT_VERSION } from './names';

const WORD = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;
const IDENTITY = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

export function callAt(at: Fields): string {
  return at.text('call_id', 'a call id', isCallId);
}

export function digestAt(at: Fields, field: string): string {
  return at.text(field, 'a sha256 digest', isDigest);
}

/** A whole number from 1. */
export function positionAt(at: Fields, field: string): number {
  const number = at.count(field);
  return number >= 1 ? number : at.refuse('must be 1 or more', field);
}

/** A short stable word: a code, or why an answer ended. */
export function wordAt(at: Fields, field: string): string {
  return at.text(field, 'a word of up to 64 plain characters', (text) => WORD.test(text));
}

export function ruleAt(at: Fields): string {
  return at.text('rule', 'the name of a rule', isRuleName);
}

/** Of a worker, as Temporal shows it. */
export function identityAt(at: Fields, field: string): string {
  return at.text(field, '1 to 200 printable characters', (text) => IDENTITY.test(text));
}

/** Null for a tool without a version. */
export function versionAt(at: Fields): string | null {
  const isVersion = (text: string): boolean => text === DEFAULT_VERSION || isToolVersion(text);
  const version = at.text('version', `three numbers such as 1.0.0, or "${DEFAULT_VERSION}"`, isVersion);
  return version === DEFAULT_VERSION ? null : version;
}
