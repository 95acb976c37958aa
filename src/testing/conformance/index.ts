/** The conformance kit of sinks. Invariant: it needs no test runner and nothing but Node. */
export { type CaseResult, type SinkConformanceCase } from './conformance-case';
export {
  type ExceptableFault,
  type FaultLine,
  type LineFault,
  type MakeSink,
  type Reach,
  type SinkFixture,
  type SinkTarget,
  type Strike,
} from './fixture';
export { BROKEN, BrokenPromise, SINK_FAULTS, type Broken, type SinkFault } from './promises';
export { sinkConformance, type GivesFixture } from './sink-conformance';
