/**
 * The engine's meter inside a Temporal activity: the SDK's, with the tags that it and the user's interceptors give to that
 * activity. Invariant: an instrument is made once for each activity that uses it; outside of one, nothing is measured.
 */
import { asyncLocalStorage, type Context } from '@temporalio/activity';
import type { MetricTags } from '@temporalio/common';
import { MEASUREMENTS, type Measurement } from '../rules/measurements';
import type { Meter } from './engine';

type Instrument = (value: number, labels: MetricTags) => void;

export function activityMeter(): Meter {
  const made = new WeakMap<Context, Map<Measurement, Instrument>>();
  return {
    record(what, value, labels) {
      const context = asyncLocalStorage.getStore();
      if (context === undefined) return;
      let instruments = made.get(context);
      if (instruments === undefined) made.set(context, (instruments = new Map()));
      let instrument = instruments.get(what);
      if (instrument === undefined) instruments.set(what, (instrument = instrumentOf(context, what)));
      instrument(value, labels);
    },
  };
}

function instrumentOf({ metricMeter }: Context, what: Measurement): Instrument {
  const { kind, name, description } = MEASUREMENTS[what];
  if (kind === 'counter') {
    const counter = metricMeter.createCounter(name, undefined, description);
    return (value, labels) => counter.add(value, labels);
  }
  const histogram = metricMeter.createHistogram(name, 'float', undefined, description);
  return (value, labels) => histogram.record(value, labels);
}
