/** Anchors of journals; imported as `countersign/anchor`. */
export { AnchorError, ANCHOR_ERROR_CODES, type AnchorErrorCode } from './anchor-error';
export { anchorJournal, type Anchored, type AnchorOptions, type AnchorProgress } from './anchor-journal';
export { makeSignerFile, readSignerFile } from './key-file';
export { LogReader, cosigners, signedHead, type SignedHead } from './log-reader';
export { publisherIn } from './published-head';
export { stampedTime, type TimeStamper } from './time-stamp';
export { witnessLog, type Witnessed, type WitnessOptions } from './witness';
export {
  signerFromSeed,
  signerFromText,
  signerToText,
  verifierFromText,
  verifierToText,
  type SignerKey,
  type VerifierKey,
} from '../rules/anchors/note-keys';
