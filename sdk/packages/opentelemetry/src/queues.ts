/**
 * Spans and metrics of `@braiddb/queue`, by OpenTelemetry's conventions for messaging. The package need
 * not be installed: its channels are known by their names.
 */

import type { Attributes, Meter, Tracer } from '@opentelemetry/api';
import { SpanKind } from '@opentelemetry/api';

import { errorAttributes } from './attributes.js';
import type { TraceListener } from './channels.js';
import { spansOf } from './spans.js';

/** A call of a handler: the messages of `braiddb:queue:job`. */
export interface JobTrace {
  readonly queue: string;
  readonly ids: readonly string[];
  readonly attempt: number;
  readonly lagMs: number;
  error?: unknown;
}

/** What has happened to a job: the messages of `braiddb:queue:event`. */
export interface QueueEvent {
  readonly kind: string;
  readonly queue: string;
  readonly error: unknown;
}

/** What spans and metrics of a queue have in common. */
function queueAttributes(queue: string): Attributes {
  return {
    'messaging.system': 'braiddb',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': queue,
  };
}

/** A span for each call of a handler. Statements of its transaction are below it. */
export function jobSpans(tracer: Tracer): TraceListener<JobTrace> {
  return spansOf<JobTrace>(tracer, {
    kind: SpanKind.CONSUMER,
    begin: ({ queue, ids, attempt }) => ({
      name: `process ${queue}`,
      attributes: {
        ...queueAttributes(queue),
        'braiddb.job.attempt': attempt,
        ...(ids.length === 1
          ? { 'messaging.message.id': ids[0] ?? '' }
          : { 'messaging.batch.message_count': ids.length }),
      },
    }),
    end: () => ({}),
  });
}

/** What is recorded about queues. */
export interface QueueMeasurements {
  readonly job: TraceListener<JobTrace>;
  readonly onQueueEvent: (event: QueueEvent) => void;
}

/** Boundaries of durations, in seconds, as the conventions for messaging give them. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** Makes the instruments. */
export function queueMeasurements(meter: Meter): QueueMeasurements {
  const seconds = (name: string, description: string): ReturnType<Meter['createHistogram']> =>
    meter.createHistogram(name, {
      description,
      unit: 's',
      advice: { explicitBucketBoundaries: SECONDS },
    });
  const duration = seconds('messaging.process.duration', 'Duration of a call of a handler.');
  const lag = seconds('braiddb.queue.lag', 'Time that a job has waited since it could run.');
  const consumed = meter.createCounter('messaging.client.consumed.messages', {
    description: 'Jobs that handlers were called with.',
    unit: '{message}',
  });
  const events = meter.createCounter('braiddb.queue.events', {
    description: 'Jobs that are tried again, dead, lost or given back.',
    unit: '{job}',
  });
  const startedMs = new WeakMap<JobTrace, number>();
  const job: TraceListener<JobTrace> = {
    onStart: (trace) => {
      startedMs.set(trace, performance.now());
      lag.record(trace.lagMs / 1000, queueAttributes(trace.queue));
      return undefined;
    },
    onEnd: (trace) => {
      const startMs = startedMs.get(trace);
      if (startMs === undefined) return;
      const attributes = { ...queueAttributes(trace.queue), ...errorAttributes(trace) };
      duration.record((performance.now() - startMs) / 1000, attributes);
      consumed.add(trace.ids.length, attributes);
    },
  };
  return {
    job,
    onQueueEvent: ({ kind, queue, error }) => {
      const reason = error === undefined ? {} : errorAttributes({ error });
      events.add(1, { ...queueAttributes(queue), ...reason, 'braiddb.queue.event': kind });
    },
  };
}
