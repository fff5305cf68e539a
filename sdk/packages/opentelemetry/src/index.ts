/**
 * `@braiddb/opentelemetry`: spans and metrics of `@braiddb/sdk`, by OpenTelemetry's conventions for
 * databases. It listens to the tracing channels of the SDK and changes nothing of it.
 *
 * ```text
 *  instrument.ts   instrument(): subscribes, and ends the subscriptions
 *  spans.ts        spans of statements, transactions and batches
 *  metrics.ts      durations, waits and counters      pools.ts  gauges of db.stats()
 *  queues.ts       spans and metrics of @braiddb/queue
 *  ───────────────────────────────────────────────────────────────────────
 *  attributes.ts   what a trace is called by the conventions
 *  summary.ts      the summary of a statement, and its text without literals
 *  channels.ts     subscriptions              traceparent.ts  the active span for the server
 * ```
 *
 * No side effects on import, no console output.
 */

export type { Instrumentation, InstrumentOptions } from './instrument.js';
export { instrument } from './instrument.js';
export type { PoolOptions } from './pools.js';
export type { StatementSummary } from './summary.js';
export { summarize } from './summary.js';
export { traceparent } from './traceparent.js';
