/** What tests, demos and harnesses of effects are made of. Invariant: nothing here is needed to run Countersign. */
export { SinkAdmin, type Moment } from './admin-api';
export { ARRIVAL_EVENTS, type Arrival, type ArrivalEvent, type Counts, type KeyCounts } from './arrivals';
export { COUNTING_MODES, type CountingMode, startCountingServer } from './counting-server';
export { countingSink, type CountingSinkOptions } from './counting-sink';
export { FAULT_KINDS, type Fault, type FaultKind } from './faults';
export { type FhirServer, type FhirServerOptions, startFhirServer } from './fhir-server';
export { startIdempotencyServer } from './idempotency-server';
export { type SinkServer, type SinkServerOptions } from './sink-server';
export * from './conformance';
export { storeConformance, type ConformanceCase, type StoreHarness } from './store-conformance';
export { recordHistory, type RecordedHistory } from './history-file';
export {
  assertReplayAndVerify,
  replayAndVerify,
  type ReplayAndVerifyOptions,
  type ReplayFailure,
  type ReplayReport,
} from './replay';
