/** Sinks that come with Countersign. Invariant: each is one file that needs nothing but Node. */
export { SinkError, type SinkErrorCode } from './sink-error';
