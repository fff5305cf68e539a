/** Subscribes to the channels of the SDK, and ends the subscriptions. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { Database, RetryEvent } from '@braiddb/sdk';
import { OptionError, UsageError } from '@braiddb/sdk';
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { metrics, trace } from '@opentelemetry/api';

import type { Unsubscribe } from './channels.js';
import { listen } from './channels.js';
import { measurements } from './metrics.js';
import type { PoolOptions } from './pools.js';
import { PoolGauges } from './pools.js';
import { jobSpans, queueMeasurements } from './queues.js';
import { batchSpans, noteRetry, statementSpans, transactionSpans } from './spans.js';

const NAME = '@braiddb/opentelemetry';
const VERSION = '0.1.0';

/** Options of {@link instrument}. */
export interface InstrumentOptions {
  /** Where spans go to. Default: the global provider. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Where metrics go to. Default: the global provider. */
  readonly meterProvider?: MeterProvider | undefined;
  /**
   * Whether spans have the text of a statement, with `?` in place of its literals. Parameters are in
   * no span. Default `true`.
   */
  readonly queryText?: boolean | undefined;
}

/** Telemetry that is on. */
export interface Instrumentation extends Disposable {
  /**
   * Adds metrics about the connection pool of a database, until the function that is returned is
   * called. The other metrics, and spans, need no such call.
   */
  observe(db: Database, options: PoolOptions): () => void;
  /** Ends all spans and metrics of this call; those under way are not ended. */
  stop(): void;
}

/**
 * Turns on spans and metrics for everything that the SDK does in this process. Call it once, after
 * your OpenTelemetry SDK has started. Fails with an {@link OptionError} if an option is wrong.
 *
 * @example
 * ```ts
 * import { instrument } from '@braiddb/opentelemetry';
 * import { connect } from '@braiddb/sdk';
 * const telemetry = instrument();
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
 * telemetry.observe(db, { poolName: 'orders' });
 * await db.query`SELECT 1`; // a span, and one value of db.client.operation.duration
 * telemetry.stop();
 * ```
 */
export function instrument(options: InstrumentOptions = {}): Instrumentation {
  const {
    tracerProvider = trace,
    meterProvider = metrics,
    queryText = true,
  } = readOptions(options);
  const tracer = tracerProvider.getTracer(NAME, VERSION);
  const meter = meterProvider.getMeter(NAME, VERSION);
  const measured = measurements(meter);
  const pools = new PoolGauges(meter);
  const queues = queueMeasurements(meter);
  const undo: Unsubscribe[] = [
    listen('query', measured.query),
    listen('query', statementSpans(tracer, queryText)),
    listen('transaction', measured.transaction),
    listen('transaction', transactionSpans(tracer)),
    listen('acquire', measured.acquire),
    listen('connect', measured.connect),
    listen('batch', measured.batch),
    listen('batch', batchSpans(tracer)),
    listen('queue:job', queues.job),
    listen('queue:job', jobSpans(tracer)),
    onEvent('braiddb:queue:event', queues.onQueueEvent),
    onEvent('braiddb:transaction:retry', (event: RetryEvent) => {
      noteRetry(event);
      measured.onRetry(event);
    }),
    onEvent('braiddb:transaction:commit-lost', measured.onCommitLost),
  ];
  const stop = (): void => {
    for (const end of undo.splice(0)) end();
    pools.stop();
  };
  return Object.freeze({
    observe: (db: Database, pool: PoolOptions) =>
      pools.add(checkDatabase(db), readPoolOptions(pool)),
    stop,
    [Symbol.dispose]: stop,
  });
}

function onEvent(name: string, listener: (event: never) => void): Unsubscribe {
  const hear = listener as (event: unknown) => void;
  subscribe(name, hear);
  return () => unsubscribe(name, hear);
}

function readOptions(options: InstrumentOptions): InstrumentOptions {
  if (typeof (options as unknown) !== 'object' || (options as unknown) === null) {
    throw new OptionError('options', 'must be an object');
  }
  const known = ['tracerProvider', 'meterProvider', 'queryText'];
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new OptionError(unknown, `is not known; known are ${known.join(', ')}`);
  }
  const { queryText, tracerProvider, meterProvider } = options;
  checkProvider('tracerProvider', tracerProvider, 'getTracer');
  checkProvider('meterProvider', meterProvider, 'getMeter');
  if (queryText !== undefined && typeof (queryText as unknown) !== 'boolean') {
    throw new OptionError('queryText', 'must be true or false');
  }
  return options;
}

function checkProvider(name: string, value: object | undefined, method: string): void {
  const found = (value as Readonly<Record<string, unknown>> | null | undefined)?.[method];
  if (value === undefined || typeof found === 'function') return;
  throw new OptionError(name, `must be a provider of OpenTelemetry, with ${method}`);
}

function checkDatabase(db: Database): Database {
  if (typeof (db as Partial<Database> | null)?.stats === 'function') return db;
  throw new UsageError('observe takes a database of connect, and { poolName }');
}

function readPoolOptions(options: PoolOptions): PoolOptions {
  const given: unknown = options;
  const poolName: unknown = (given as Partial<PoolOptions> | null)?.poolName;
  if (typeof poolName !== 'string' || poolName === '') {
    throw new OptionError('poolName', 'must be a name');
  }
  return options;
}
