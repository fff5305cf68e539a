/** Durations and counters, by the conventions for databases; our own names begin with `braiddb`. */

import type {
  AcquireTrace,
  BatchTrace,
  CommitLostEvent,
  ConnectTrace,
  QueryTrace,
  RetryEvent,
  TransactionTrace,
} from '@braiddb/sdk';
import { ConnectionError } from '@braiddb/sdk';
import type { Attributes, Meter } from '@opentelemetry/api';

import { errorAttributes, NAMES, placeAttributes, statementAttributes } from './attributes.js';
import type { TraceListener } from './channels.js';
import { summarize } from './summary.js';

/** Boundaries of durations, in seconds, as the conventions give them. */
const SECONDS = { explicitBucketBoundaries: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10] };

/** Boundaries of numbers of rows, as the conventions give them. */
const ROWS = { explicitBucketBoundaries: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] };

/** Measures how long the traces of a channel take, in seconds. */
function timed<Message extends object>(
  record: (message: Message, seconds: number) => void,
): TraceListener<Message> {
  const startedMs = new WeakMap<Message, number>();
  return {
    onStart: (message) => {
      startedMs.set(message, performance.now());
      return undefined;
    },
    onEnd: (message) => {
      const startMs = startedMs.get(message);
      if (startMs !== undefined) record(message, (performance.now() - startMs) / 1000);
    },
  };
}

/** What the instruments of one meter record. */
export interface Measurements {
  readonly query: TraceListener<QueryTrace>;
  readonly transaction: TraceListener<TransactionTrace>;
  readonly acquire: TraceListener<AcquireTrace>;
  readonly connect: TraceListener<ConnectTrace>;
  readonly batch: TraceListener<BatchTrace>;
  readonly onRetry: (event: RetryEvent) => void;
  readonly onCommitLost: (event: CommitLostEvent) => void;
}

/** Makes the instruments. */
export function measurements(meter: Meter): Measurements {
  return {
    ...statementMeasurements(meter),
    ...connectionMeasurements(meter),
    ...transactionMeasurements(meter),
  };
}

function statementMeasurements(meter: Meter): Pick<Measurements, 'query' | 'batch'> {
  const duration = seconds(meter, 'db.client.operation.duration', 'Duration of a statement.');
  const returned = meter.createHistogram('db.client.response.returned_rows', {
    description: 'Rows that a statement returned.',
    unit: '{row}',
    advice: ROWS,
  });
  const stored = meter.createCounter('braiddb.client.batch.rows', {
    description: 'Rows that batchers have sent, by their outcome.',
    unit: '{row}',
  });
  const query = timed<QueryTrace>((trace, time) => {
    const summary = summarize(trace.text);
    const attributes = { ...placeAttributes(trace), ...statementAttributes(summary) };
    duration.record(time, { ...attributes, ...errorAttributes(trace) });
    const { rows } = trace;
    if (summary.operation === 'SELECT' && rows !== undefined) returned.record(rows, attributes);
  });
  const batch = timed<BatchTrace>((trace) => {
    const { table, mode, rows, rejected } = trace;
    if (rejected === undefined) return;
    const own = { [NAMES.collection]: table, [NAMES.operation]: mode.toUpperCase() };
    const attributes = { ...placeAttributes(trace), ...own };
    stored.add(rows - rejected, { ...attributes, 'braiddb.batch.outcome': 'stored' });
    if (rejected > 0) stored.add(rejected, { ...attributes, 'braiddb.batch.outcome': 'rejected' });
  });
  return { query, batch };
}

function connectionMeasurements(meter: Meter): Pick<Measurements, 'acquire' | 'connect'> {
  const wait = seconds(
    meter,
    'db.client.connection.wait_time',
    'Time that a call waited for a connection.',
  );
  const create = seconds(
    meter,
    'db.client.connection.create_time',
    'Time that it took to open a connection.',
  );
  const timeouts = meter.createCounter('db.client.connection.timeouts', {
    description: 'Calls that got no connection in time.',
    unit: '{timeout}',
  });
  const acquire = timed<AcquireTrace>((trace, time) => {
    const attributes = poolAttributes(trace);
    wait.record(time, { ...attributes, ...errorAttributes(trace) });
    const { error } = trace;
    const isLate = error instanceof ConnectionError && error.message.includes('acquireTimeoutMs');
    if (isLate) timeouts.add(1, attributes);
  });
  const connect = timed<ConnectTrace>((trace, time) => {
    create.record(time, { ...poolAttributes(trace), ...errorAttributes(trace) });
  });
  return { acquire, connect };
}

/** The pool of a connection: it is named after the server and the database. */
function poolAttributes(trace: AcquireTrace | ConnectTrace): Attributes {
  const { server, database } = trace;
  const pool = server === undefined ? 'unknown' : `${server}/${database ?? ''}`;
  return { ...placeAttributes(trace), [NAMES.pool]: pool };
}

function transactionMeasurements(
  meter: Meter,
): Pick<Measurements, 'transaction' | 'onRetry' | 'onCommitLost'> {
  const duration = seconds(
    meter,
    'braiddb.client.transaction.duration',
    'Duration of a transaction, all attempts and pauses together.',
  );
  const retries = meter.createCounter('braiddb.client.transaction.retries', {
    description: 'Attempts of transactions after the first.',
    unit: '{attempt}',
  });
  const lost = meter.createCounter('braiddb.client.commits_lost', {
    description: 'COMMITs whose answer was lost, by their outcome.',
    unit: '{commit}',
  });
  const transaction = timed<TransactionTrace>((trace, time) => {
    const attributes = { [NAMES.isolation]: trace.isolation, [NAMES.readOnly]: trace.readOnly };
    duration.record(time, { ...placeAttributes(trace), ...attributes, ...errorAttributes(trace) });
  });
  return {
    transaction,
    onRetry: ({ error }) => {
      retries.add(1, errorAttributes({ error }));
    },
    onCommitLost: ({ outcome }) => {
      lost.add(1, { [NAMES.outcome]: outcome });
    },
  };
}

function seconds(
  meter: Meter,
  name: string,
  description: string,
): ReturnType<Meter['createHistogram']> {
  return meter.createHistogram(name, { description, unit: 's', advice: SECONDS });
}
