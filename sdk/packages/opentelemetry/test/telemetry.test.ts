/** Spans and metrics, as OpenTelemetry's own SDK collects them. */

import { channel, tracingChannel } from 'node:diagnostics_channel';

import type { Database } from '@braiddb/sdk';
import { connect, OptionError, sql } from '@braiddb/sdk';
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';

import { freshName, onEachServer } from '../../../test/targets.js';
import { findRawErrors } from '../../../test/wrong-calls.js';
import type { Instrumentation } from '../src/index.js';
import { instrument, summarize, traceparent } from '../src/index.js';

const exporter = new InMemorySpanExporter();
const tracerProvider = new NodeTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(exporter)],
});

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => {
  context.disable();
});

/** The spans so far, in the order of their ends. */
function spans(): ReadableSpan[] {
  return exporter.getFinishedSpans();
}

/** The span that one is a child of. */
function parentOf(span: ReadableSpan | undefined): ReadableSpan | undefined {
  const id = span?.parentSpanContext?.spanId;
  return spans().find((other) => other.spanContext().spanId === id);
}

onEachServer('telemetry', ({ url }) => {
  let db: Database;
  let telemetry: Instrumentation;
  let reader: PeriodicExportingMetricReader;
  let measured: InMemoryMetricExporter;
  const { hostname, port, pathname } = new URL(url);
  const name = freshName('telemetry');
  const t = sql.identifier(name);

  beforeAll(async () => {
    db = await connect(url, { connectionsMax: 2 });
    await db.run`CREATE TABLE ${t} (id INT4 PRIMARY KEY, n INT4)`;
  });
  afterAll(async () => {
    await db.run`DROP TABLE ${t}`;
    await db.close();
  });
  beforeEach(async () => {
    await db.run`DELETE FROM ${t}`;
    exporter.reset();
    measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    reader = new PeriodicExportingMetricReader({ exporter: measured });
    telemetry = instrument({
      tracerProvider,
      meterProvider: new MeterProvider({ readers: [reader] }),
    });
  });
  afterEach(async () => {
    telemetry.stop();
    await reader.shutdown();
  });

  /** The metrics so far, by their names. */
  async function metrics(): Promise<Map<string, MetricData>> {
    await reader.forceFlush();
    const last = measured.getMetrics().at(-1);
    const all = last?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
    return new Map(all.map((metric) => [metric.descriptor.name, metric]));
  }

  const place = {
    'server.address': hostname,
    'server.port': Number(port),
    'db.namespace': pathname.slice(1),
  };

  it('makes a span for a statement', async () => {
    await db.query`INSERT INTO ${t} VALUES (${1}, 7)`;
    const [span] = spans();
    expect(span?.name).toBe(`INSERT "${name}"`);
    expect(span?.kind).toBe(SpanKind.CLIENT);
    expect(span?.status.code).toBe(SpanStatusCode.UNSET);
    expect(span?.attributes).toEqual({
      ...place,
      'db.system.name': db.server.kind,
      'db.operation.name': 'INSERT',
      'db.collection.name': `"${name}"`,
      'db.query.summary': `INSERT "${name}"`,
      'db.query.text': `INSERT INTO "${name}" VALUES ($1, ?)`,
      'db.response.returned_rows': 1,
    });
    expect(span?.instrumentationScope.name).toBe('@braiddb/opentelemetry');
  });

  it('makes one span for a stream, from its first row to its end', async () => {
    const numbers = sql<{ n: number }>`SELECT n FROM generate_series(1, 30) AS g(n)`;
    for await (const { n } of db.stream(numbers, { batchRows: 10 })) expect(n).toBeGreaterThan(0);
    for await (const { n } of db.stream(numbers, { batchRows: 10 })) if (n === 5) break;
    const broken = db.stream(sql`SELECT 1 / (n - 15) FROM generate_series(1, 30) AS g(n)`);
    await expect(broken.next()).rejects.toThrow();
    const [whole, left, failed, ...others] = spans();
    expect(others).toEqual([]);
    expect(whole?.attributes).toMatchObject({
      ...place,
      'db.system.name': db.server.kind,
      'db.operation.name': 'SELECT',
      'db.response.returned_rows': 30,
    });
    expect(left?.attributes['db.response.returned_rows']).toBe(10);
    expect(left?.status.code).toBe(SpanStatusCode.UNSET);
    expect(failed?.attributes['error.type']).toBe('22012');
  });

  it('makes spans for LISTEN, COPY and a reserved connection', async () => {
    const onListening = (): void => void db.notify('telemetry', 'x');
    for await (const { payload } of db.listen('telemetry', { onListening })) {
      expect(payload).toBe('x');
      break;
    }
    await db.copyFrom({ table: name, columns: ['id'] }, '7\n');
    await using held = await db.reserve();
    await held.query`SELECT 7`;
    await held.release();
    const names = spans().map((span) => span.name);
    expect(names.toSorted()).toEqual(['COPY', 'LISTEN', 'SELECT', 'SELECT']);
    const listen = spans().find((span) => span.name === 'LISTEN');
    expect(listen?.attributes).toMatchObject({ ...place, 'db.operation.name': 'LISTEN' });
  });

  it('gives the active span to the server as a traceparent', async () => {
    expect(traceparent()).toBeUndefined();
    const seen: (string | undefined)[] = [];
    // The setting itself is sent to servers that have it: see the tests of the SDK.
    await db.transaction(async (tx) => {
      seen.push(traceparent());
      await tx.query`SELECT 1`;
    });
    const { traceId, spanId } = spans().at(-1)?.spanContext() ?? {};
    expect(seen).toEqual([`00-${traceId}-${spanId}-01`]);
    await using traced = await connect(url, { traceparent });
    expect((await traced.transaction((tx) => tx.query`SELECT 1`)).count).toBe(1);
  });

  it('says why a statement failed', async () => {
    await db.run`INSERT INTO ${t} VALUES (1)`;
    await expect(db.query`INSERT INTO ${t} VALUES (1)`).rejects.toThrow();
    await expect(db.query(sql`SELECT 1`, { signal: AbortSignal.abort() })).rejects.toThrow();
    const [, failed, aborted] = spans();
    expect(failed?.status).toMatchObject({ code: SpanStatusCode.ERROR });
    expect(failed?.attributes).toMatchObject({
      'error.type': '23505',
      'db.response.status_code': '23505',
    });
    expect(aborted?.attributes['error.type']).toBe('AbortError');
    const seen = (await metrics()).get('db.client.operation.duration')?.dataPoints ?? [];
    const errors = seen.map(({ attributes }) => attributes['error.type']);
    expect(errors.toSorted()).toEqual(['23505', 'AbortError', undefined].toSorted());
  });

  it('puts statements and other spans below their transaction', async () => {
    const tracer = tracerProvider.getTracer('test');
    await tracer.startActiveSpan('request', async (request) => {
      await db.transaction(async (tx) => {
        await tx.query`SELECT n FROM ${t}`;
        await tracer.startActiveSpan('own', async (own) => {
          await tx.run`INSERT INTO ${t} VALUES (1)`;
          own.end();
        });
      });
      await db.query`SELECT 2`;
      request.end();
    });
    const byName = new Map(spans().map((span) => [span.name, span]));
    const transaction = byName.get('transaction');
    expect(parentOf(transaction)?.name).toBe('request');
    expect(parentOf(byName.get(`SELECT "${name}"`))).toBe(transaction);
    expect(parentOf(byName.get('own'))).toBe(transaction);
    expect(parentOf(byName.get(`INSERT "${name}"`))?.name).toBe('own');
    const outside = spans().findLast((span) => span.name === 'SELECT');
    expect(parentOf(outside)?.name).toBe('request');
    expect(trace.getActiveSpan()).toBeUndefined();
  });

  it('notes retries', async () => {
    await db.run`INSERT INTO ${t} VALUES (1, 0), (2, 0)`;
    let arrived = 0;
    let meet = (): void => undefined;
    const both = new Promise<void>((resolve) => (meet = resolve));
    const work = (id: number): Promise<void> =>
      db.transaction(async (tx) => {
        await tx.query`SELECT n FROM ${t} WHERE id = ${3 - id}`;
        arrived += 1;
        if (arrived === 2) meet();
        if (tx.attempt === 1) await both;
        await tx.run`UPDATE ${t} SET n = n + 1 WHERE id = ${id}`;
      });
    await Promise.all([work(1), work(2)]);
    const transactions = spans().filter((span) => span.name === 'transaction');
    const attempts = transactions.map((span) =>
      Number(span.attributes['braiddb.transaction.attempts']),
    );
    const retries = attempts.reduce((sum, count) => sum + count - 1, 0);
    expect(retries).toBeGreaterThan(0);
    expect(transactions[0]?.attributes).toMatchObject({
      ...place,
      'braiddb.transaction.isolation': 'serializable',
      'braiddb.transaction.read_only': false,
    });
    const events = transactions.flatMap((span) => span.events);
    expect(events).toHaveLength(retries);
    expect(events[0]).toMatchObject({ name: 'retry', attributes: { 'error.type': '40001' } });
    const counted = (await metrics()).get('braiddb.client.transaction.retries')?.dataPoints[0];
    expect(counted?.value).toBe(retries);
  });

  it('measures statements, waits and pools', async () => {
    telemetry.observe(db, { poolName: 'main' });
    await using other = await connect(url, { connectionsMax: 1 });
    const forget = telemetry.observe(other, { poolName: 'other' });
    await other.query`SELECT 1 FROM generate_series(1, 3)`;
    await using held = await other.reserve();
    await held.query`SELECT 1`;
    const all = await metrics();
    const duration = all.get('db.client.operation.duration');
    expect(duration?.descriptor.unit).toBe('s');
    const select = duration?.dataPoints.find(
      ({ attributes }) => attributes['db.query.summary'] === 'SELECT generate_series',
    );
    expect(select?.attributes).toMatchObject({ ...place, 'db.operation.name': 'SELECT' });
    expect(select?.value).toMatchObject({ count: 1 });
    expect(all.get('db.client.response.returned_rows')?.dataPoints[0]?.value).toMatchObject({
      sum: 3,
    });
    const opened = all.get('db.client.connection.create_time')?.dataPoints[0];
    expect(opened?.attributes['db.client.connection.pool.name']).toBe(
      `${hostname}:${port}${pathname}`,
    );
    expect(all.get('db.client.connection.wait_time')?.dataPoints.length).toBeGreaterThan(0);
    const pool = (metric: string): unknown[] =>
      (all.get(metric)?.dataPoints ?? [])
        .filter(({ attributes }) => attributes['db.client.connection.pool.name'] === 'other')
        .map(({ attributes, value }) => [attributes['db.client.connection.state'], value]);
    expect(pool('db.client.connection.count')).toEqual([
      ['idle', 0],
      ['used', 1],
    ]);
    expect(pool('db.client.connection.max')).toEqual([[undefined, 1]]);
    expect(pool('db.client.connection.pending_requests')).toEqual([[undefined, 0]]);
    forget();
  });

  it('counts calls that get no connection in time', async () => {
    await using other = await connect(url, { connectionsMax: 1, acquireTimeoutMs: 500 });
    await using held = await other.reserve();
    await expect(other.query`SELECT 1`).rejects.toThrow('acquireTimeoutMs');
    expect((await metrics()).get('db.client.connection.timeouts')?.dataPoints[0]?.value).toBe(1);
    await held.query`SELECT 1`;
  });

  it('makes spans and counters for batches', async () => {
    await using rows = db.batcher<{ id: number; n: number }>(name);
    await Promise.all([1, 2, 3].map((id) => rows.add({ id, n: id })));
    await expect(rows.add({ id: 1, n: 0 })).rejects.toThrow();
    const [first] = spans().filter((span) => span.name.startsWith('batch insert'));
    expect(first?.attributes).toMatchObject({
      ...place,
      'db.system.name': db.server.kind,
      'db.operation.batch.size': 3,
      'braiddb.batch.rejected_rows': 0,
    });
    const points = (await metrics()).get('braiddb.client.batch.rows')?.dataPoints ?? [];
    const values = points.map(({ attributes, value }) => [
      attributes['braiddb.batch.outcome'],
      value,
    ]);
    expect(new Map(values as [string, number][]).get('rejected')).toBe(1);
    expect(new Map(values as [string, number][]).get('stored')).toBe(3);
  });

  it('makes spans and metrics of the channels of a queue', async () => {
    const calls = tracingChannel('braiddb:queue:job');
    const call = { queue: 'mail', ids: ['7'], attempt: 2, lagMs: 500 };
    await calls.tracePromise(() => db.query`SELECT 1`, call);
    const batch = { queue: 'mail', ids: ['8', '9'], attempt: 1, lagMs: 0 };
    const failed = calls.tracePromise(() => Promise.reject(new TypeError('no')), batch);
    await expect(failed).rejects.toThrow('no');
    const event = { kind: 'dead', queue: 'mail', id: '8', attempt: 1, error: new TypeError('no') };
    channel('braiddb:queue:event').publish(event);
    const [statement, one, two] = spans();
    expect(one).toMatchObject({ name: 'process mail', kind: SpanKind.CONSUMER });
    expect(one?.attributes).toMatchObject({
      'messaging.destination.name': 'mail',
      'messaging.message.id': '7',
      'braiddb.job.attempt': 2,
    });
    expect(parentOf(statement)).toBe(one);
    expect(two?.attributes).toMatchObject({
      'messaging.batch.message_count': 2,
      'error.type': 'TypeError',
    });
    const all = await metrics();
    const consumed = all.get('messaging.client.consumed.messages')?.dataPoints ?? [];
    expect(consumed.map(({ value }) => value)).toEqual([1, 2]);
    expect(all.get('braiddb.queue.lag')?.dataPoints[0]?.value).toMatchObject({
      count: 2,
      sum: 0.5,
    });
    expect(all.get('braiddb.queue.events')?.dataPoints[0]).toMatchObject({
      value: 1,
      attributes: { 'braiddb.queue.event': 'dead', 'error.type': 'TypeError' },
    });
  });

  it('leaves the text out, and ends', async () => {
    telemetry.stop();
    await db.query`SELECT 1`;
    expect(spans()).toEqual([]);
    const without = instrument({ tracerProvider, queryText: false });
    await db.query`SELECT 1`;
    expect(spans()[0]?.attributes).not.toHaveProperty('db.query.text');
    without.stop();
    without.stop();
  });

  it('refuses wrong options', async () => {
    const calls = {
      instrument: (value: never) => {
        instrument(value).stop();
      },
      'instrument tracer': (value: never) => {
        instrument({ tracerProvider: value, meterProvider: value, queryText: value }).stop();
      },
      observe: (value: never) => telemetry.observe(value, { poolName: 'x' }),
      'observe options': (value: never) => telemetry.observe(db, value),
      'observe name': (value: never) => telemetry.observe(db, { poolName: value }),
      summarize: (value: never) => summarize(value),
    };
    expect(await findRawErrors(calls)).toEqual([]);
    expect(() => instrument({ text: true } as never)).toThrow(OptionError);
    expect(() => instrument({ queryText: 1 } as never)).toThrow(OptionError);
    expect(() => telemetry.observe(db, {} as never)).toThrow(OptionError);
  });
});
