/** The trace of the caller on its way to the server. */

import { describe, expect, it } from 'vitest';

import { connect, isRetryable, sql } from '../../src/index.js';
import { startFakeBraid } from '../fake-braid.js';
import { onEachServer } from '../targets.js';

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const SET = `SET LOCAL traceparent = '${PARENT}'`;

describe('the wire', () => {
  it('has the trace in the flight of BEGIN, and nothing else changes', async () => {
    await using server = await startFakeBraid(true);
    await using db = await connect(server.url, { traceparent: () => PARENT });
    await db.transaction((tx) => tx.query`SELECT 1`);
    expect(server.flights).toEqual([
      ['BEGIN ISOLATION LEVEL SERIALIZABLE', 'SAVEPOINT cockroach_restart', SET, 'SELECT 1'],
      ['RELEASE SAVEPOINT cockroach_restart', 'COMMIT'],
    ]);
    server.flights.length = 0;
    await db.query`SELECT 2`;
    for await (const row of db.stream`SELECT 3`) expect(row).toBeUndefined();
    expect(server.flights[0]).toEqual(['SELECT 2']);
    expect(server.flights[1]?.slice(0, 2)).toEqual([
      'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY',
      SET,
    ]);
  });

  it('has it in front of single statements where asked to', async () => {
    await using server = await startFakeBraid(true);
    const options = { traceparent: () => PARENT, traceStatements: true, prepare: true };
    await using db = await connect(server.url, options);
    await db.query`SELECT ${1}::int4`;
    await db.query`SELECT ${2}::int4`;
    await db.run`CREATE TABLE t (id INT4)`;
    expect(server.flights).toEqual([
      [SET, 'SELECT $1::int4'],
      [SET], // The statement is prepared already.
      ['CREATE TABLE t (id INT4)'],
    ]);
  });

  it('has nothing of it for a server without the setting', async () => {
    await using server = await startFakeBraid(false);
    const options = { traceparent: () => PARENT, traceStatements: true };
    await using db = await connect(server.url, options);
    await db.transaction({ readOnly: true }, (tx) => tx.query`SELECT 1`);
    await db.query`SELECT 2`;
    expect(server.flights.flat().join()).not.toContain('traceparent');
  });

  it('has only what is a traceparent, and calls the function for each attempt', async () => {
    await using server = await startFakeBraid(true);
    const values = [undefined, '', "x'; DROP TABLE t; --", `${PARENT}-00`, PARENT.toUpperCase(), 5];
    let calls = 0;
    const traceparent = (): string => values[calls++] as string;
    await using db = await connect(server.url, { traceparent });
    for (const value of values) {
      await db.transaction({ readOnly: true }, (tx) => tx.query`SELECT ${String(value)}::text`);
    }
    expect(calls).toBe(values.length);
    expect(server.flights.flat().join()).not.toContain('traceparent');
    const mine = new Error('mine');
    await using failing = await connect(server.url, {
      traceparent: () => {
        throw mine;
      },
    });
    await expect(failing.transaction((tx) => tx.query`SELECT 1`)).rejects.toBe(mine);
    expect((await failing.query`SELECT 1`).command).toBe('SELECT');
    expect(isRetryable(mine)).toBe(false);
  });
});

onEachServer('the trace context', ({ url }) => {
  it('harms no statement, whatever the server is', async () => {
    const options = { traceparent: () => PARENT, traceStatements: true };
    await using db = await connect(url, options);
    const row = await db.transaction((tx) => tx.one<{ n: number }>`SELECT 1::int4 AS n`);
    expect(row.n).toBe(1);
    expect((await db.query`SELECT 1`).count).toBe(1);
    const rows: unknown[] = [];
    for await (const one of db.stream`SELECT n FROM generate_series(1, 3) AS g(n)`) rows.push(one);
    expect(rows).toHaveLength(3);
  });

  it('is what the server knows, as long as the transaction', async ({ skip }) => {
    await using plain = await connect(url, { connectionsMax: 1 });
    const isKnown = await plain.query`SHOW traceparent`.then(
      () => true,
      () => false,
    );
    if (!isKnown) skip('this server has no setting traceparent');
    await using db = await connect(url, {
      ...{ traceparent: () => PARENT, traceStatements: true, connectionsMax: 1 },
    });
    const show = sql<{ traceparent: string }>`SELECT current_setting('traceparent') AS traceparent`;
    const inside = await db.transaction((tx) => tx.one(show));
    expect(inside.traceparent).toBe(PARENT);
    expect((await db.one(show)).traceparent).toBe(PARENT);
    const after = await db.one<{ traceparent: string }>`SHOW traceparent`;
    expect(after.traceparent).not.toBe(PARENT);
  });
});
