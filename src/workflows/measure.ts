/** Measurements from workflow code, by the SDK's own meter. Invariant: nothing is recorded while a history is replayed. */
import { metricMeter } from '@temporalio/workflow';
import { MEASUREMENTS, type LabelsOf, type Measurement } from '../rules/measurements';

export function measure<M extends Measurement>(what: M, value: number, labels: LabelsOf<M>): void {
  const { kind, name, description } = MEASUREMENTS[what];
  if (kind === 'counter') metricMeter.createCounter(name, undefined, description).add(value, labels);
  else metricMeter.createHistogram(name, 'float', undefined, description).record(value, labels);
}
