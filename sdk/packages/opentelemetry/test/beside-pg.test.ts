/** Beside the instrumentation of `pg`: no span is lost, and none is there twice. */

import { createRequire } from 'node:module';

import { connect, sql } from '@braiddb/sdk';
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';

import { freshName, onEachServer } from '../../../test/targets.js';
import { instrument } from '../src/index.js';

const exporter = new InMemorySpanExporter();
const tracerProvider = new NodeTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(exporter)],
});
const theirs = new PgInstrumentation({ requireParentSpan: false });

/** The spans so far: by whom, and their names. */
function spans(): string[] {
  return exporter
    .getFinishedSpans()
    .map((span) => `${span.instrumentationScope.name.replace(/^@\w+\//, '')}: ${span.name}`);
}

/** The spans of statements by the instrumentation of `pg`; it also has some of connections. */
const statementsOfPg = (): string[] => spans().filter((name) => name.includes(': pg.query'));

onEachServer('beside the instrumentation of pg', ({ url }) => {
  let driver: typeof pg;
  const name = freshName('beside_pg');

  beforeAll(async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    theirs.setTracerProvider(tracerProvider);
    theirs.enable();
    // As an application loads it: the instrumentation changes what `require` returns.
    driver = createRequire(import.meta.url)('pg') as typeof pg;
    await using db = await connect(url);
    await db.script(`CREATE TABLE ${name} (id INT4 PRIMARY KEY)`);
  });
  afterAll(async () => {
    theirs.disable();
    context.disable();
    await using db = await connect(url);
    await db.script(`DROP TABLE ${name}`);
  });
  beforeEach(() => {
    exporter.reset();
  });

  it('each has its own statements: those of the SDK, and those of pg', async () => {
    const telemetry = instrument({ tracerProvider });
    await using db = await connect(url);
    // It sees the `pg` of the SDK: what follows is not for want of looking.
    expect(spans().some((span) => span.startsWith('instrumentation-pg: '))).toBe(true);
    exporter.reset();
    const t = sql.identifier(name);
    await db.query`SELECT 1`;
    await db.run`INSERT INTO ${t} VALUES (1)`;
    await db.script('SELECT 2');
    await db.transaction(async (tx) => {
      await tx.query`SELECT id FROM ${t}`;
      await tx.run`DELETE FROM ${t}`;
    });
    for await (const row of db.stream`SELECT 3 AS n`) expect(row).toEqual({ n: 3 });
    await db.copyFrom({ table: name }, '5\n');
    const onListening = (): void => void db.notify('beside', '');
    await using heard = db.listen('beside', { onListening });
    expect((await heard.next()).done).toBe(false);
    await heard.return();
    await using rows = db.batcher<{ id: number }>(name);
    await rows.add({ id: 9 });
    await rows.close();
    const ours = spans().filter((span) => span.startsWith('opentelemetry: '));
    const count = (end: string): number => ours.filter((span) => span.endsWith(`: ${end}`)).length;
    expect(count(`SELECT "${name}"`)).toBe(1);
    expect(count(`DELETE "${name}"`)).toBe(1);
    expect(count('LISTEN')).toBe(1);
    expect(count('COPY')).toBe(1);
    expect(count(`batch insert "${name}"`)).toBe(1);
    // Ours: 1, 2, the stream of 3, and the notification. Theirs: none, for they see no text of it.
    expect(count('SELECT')).toBe(4);
    expect(statementsOfPg()).toEqual([]);

    exporter.reset();
    const pool = new driver.Pool({ connectionString: url });
    await pool.query('SELECT 7');
    await pool.end();
    expect(statementsOfPg()).toHaveLength(1);
    expect(spans().some((span) => span.startsWith('opentelemetry: '))).toBe(false);
    telemetry.stop();
  });
});
