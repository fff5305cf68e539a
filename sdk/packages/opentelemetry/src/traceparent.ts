/** The active span in the form of W3C's trace context. */

import { isSpanContextValid, trace } from '@opentelemetry/api';

/**
 * The active span as W3C's `traceparent`, for the option of that name of `connect`: the server then
 * names the trace in its logs and timelines. Undefined where no span is active.
 *
 * @example
 * ```ts
 * import { traceparent } from '@braiddb/opentelemetry';
 * import { connect } from '@braiddb/sdk';
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb', { traceparent });
 * await db.transaction((tx) => tx.query`SELECT 1`); // in the flight of BEGIN: SET LOCAL traceparent
 * console.assert(traceparent() === undefined); // no span is active here
 * ```
 */
export function traceparent(): string | undefined {
  const context = trace.getActiveSpan()?.spanContext();
  if (context === undefined || !isSpanContextValid(context)) return undefined;
  const { traceId, spanId, traceFlags } = context;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
