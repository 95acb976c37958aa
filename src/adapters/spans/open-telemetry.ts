/**
 * Spans by OpenTelemetry, for the tracer provider that the application has registered. Invariant: `@opentelemetry/api` is used
 * where the application has it, and never asked for where it does not; without a provider its spans are no-ops.
 */
import { createRequire } from 'node:module';
import type * as OpenTelemetry from '@opentelemetry/api';
import type { Spans } from '../../ports';

/** Undefined where the package is not installed. */
export function openTelemetrySpans(load: () => typeof OpenTelemetry | null = installed): Spans | undefined {
  const api = load();
  if (api === null) return undefined;
  const tracer = api.trace.getTracer('countersign');
  const { SpanKind, SpanStatusCode } = api;
  return {
    within: (name, attributes, call, ended) =>
      tracer.startActiveSpan(name, { kind: SpanKind.CLIENT, attributes }, async (span) => {
        try {
          const value = await call();
          const how = ended(value);
          span.setAttributes(how.attributes);
          span.setStatus({ code: how.ok ? SpanStatusCode.OK : SpanStatusCode.ERROR });
          return value;
        } catch (fault) {
          // Not `recordException`: a sink's error may quote what it was sent.
          span.setStatus({ code: SpanStatusCode.ERROR });
          throw fault;
        } finally {
          span.end();
        }
      }),
  };
}

function installed(): typeof OpenTelemetry | null {
  try {
    return createRequire(__filename)('@opentelemetry/api') as typeof OpenTelemetry;
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null;
    throw fault;
  }
}
