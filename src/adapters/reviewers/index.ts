/** Where reviewers' keys come from, and where people keep theirs. Imported as `countersign/reviewers`. */
export { CustodyError, type CustodyErrorCode } from './custody-error';
export { developmentKey, DEVELOPMENT_PERSON, DEVELOPMENT_ROLE, type DevelopmentKey } from './development-key';
export { defaultKeyFolder, KeyFolder, type NamedKey } from './key-folder';
export { reviewersFromFile, type ReviewersFileOptions } from './reviewers-file';
export { reviewersFromUrl, type ReviewersUrlOptions } from './reviewers-url';
