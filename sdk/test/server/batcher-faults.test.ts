/**
 * The batcher behind a proxy that cuts connections at random steps: no row is stored twice, none
 * that was acknowledged is missing, and each row that was refused is named.
 *
 * A run is random: mode, settings, rows, pauses between them, and what the proxy does with each
 * piece that the client sends. `BATCHER_RUNS` is the number of runs (20 by default), `BATCHER_SEED`
 * repeats one.
 */

import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type { BatcherOptions, Database } from '../../src/index.js';
import { BatchRowError, connect, isAmbiguous, sql } from '../../src/index.js';
import type { Proxy, Verdict } from '../proxy.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer } from '../targets.js';

const RUNS = Number(process.env.BATCHER_RUNS ?? 20);
const SEED = Number(process.env.BATCHER_SEED ?? Date.now() % 2 ** 31);

/** Keys of one run; the next run has others, because a cut statement may still be at work. */
const KEYS = 40;

interface Row {
  readonly id: bigint;
  readonly value: number;
  readonly note?: string;
}

/** One call of `add`, and what came of it. */
interface Added {
  readonly row: Row;
  readonly isBad: boolean;
  readonly outcome: 'stored' | 'refused' | 'ambiguous' | 'failed';
  readonly error: unknown;
}

/** One random run. */
interface Plan {
  readonly mode: 'insert' | 'nothing' | 'upsert' | 'delete' | 'keyless';
  readonly settings: BatcherOptions;
  readonly rows: readonly { key: number; isBad: boolean; hasNote: boolean; pauseMs: number }[];
  readonly verdicts: readonly Verdict[];
}

const verdict = fc.oneof(
  { arbitrary: fc.constant<Verdict>('pass'), weight: 5 },
  fc.constantFrom<Verdict>('cut before', 'cut inside', 'cut after', 'cut answered'),
);
const plan: fc.Arbitrary<Plan> = fc.record({
  mode: fc.constantFrom('insert', 'nothing', 'upsert', 'delete', 'keyless'),
  settings: fc.record({
    rowsMax: fc.integer({ min: 1, max: 30 }),
    inFlightMax: fc.integer({ min: 1, max: 4 }),
    adaptive: fc.boolean(),
    delayMs: fc.constantFrom(0, 0, 2),
  }),
  rows: fc.array(
    fc.record({
      key: fc.integer({ min: 0, max: KEYS - 1 }),
      isBad: fc.nat(9).map((n) => n === 0),
      hasNote: fc.boolean(),
      pauseMs: fc.constantFrom(-1, -1, -1, -1, 0, 0, 1, 5),
    }),
    { minLength: 1, maxLength: 80 },
  ),
  verdicts: fc.array(verdict, { maxLength: 30 }),
});

/** What the mode is called in the options. */
function optionsOf({ mode, settings }: Plan): BatcherOptions {
  const common = { ...settings, attemptsMax: 100 };
  if (mode === 'nothing') return { ...common, onConflict: 'nothing' };
  return { ...common, mode: mode === 'keyless' ? 'insert' : mode };
}

/** Adds all rows while the proxy does what the plan says. */
async function execute(one: Plan, table: string, proxy: Proxy, base: bigint): Promise<Added[]> {
  proxy.judge = () => 'pass';
  await using db = await connect(proxy.url);
  let step = 0;
  proxy.judge = () => one.verdicts[step++] ?? 'pass';
  await using batcher = db.batcher<Row>(table, optionsOf(one));
  const adds: Promise<Added>[] = [];
  for (const [place, { key, isBad: wanted, hasNote, pauseMs }] of one.rows.entries()) {
    const isBad = wanted && one.mode !== 'delete';
    const value = isBad ? -1 : place;
    const row = { id: base + BigInt(key), value, ...(hasNote ? { note: `${place}` } : {}) };
    const added = batcher.add(row).then(
      (): Added => ({ row, isBad, outcome: 'stored', error: undefined }),
      (error: unknown): Added => {
        const isRefused = error instanceof BatchRowError;
        const failed = isAmbiguous(error) ? 'ambiguous' : 'failed';
        return { row, isBad, outcome: isRefused ? 'refused' : failed, error };
      },
    );
    adds.push(added);
    if (pauseMs === 0) await turn();
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return await Promise.all(adds);
}

/** Each refused row is named by its own error, and there is a reason to refuse it. */
function checkRefusals({ mode }: Plan, added: readonly Added[]): void {
  for (const { row, isBad, outcome, error } of added) {
    if (isBad && outcome === 'stored') {
      // It was never sent: a later row of the key with the same columns has taken its place.
      const later = added.slice(added.findIndex((other) => other.row === row) + 1);
      const takesPlace = (other: Added): boolean =>
        other.row.id === row.id && !other.isBad && 'note' in other.row === 'note' in row;
      expect([mode, later.some(takesPlace)]).toEqual(['upsert', true]);
    }
    if (outcome !== 'refused' || !(error instanceof BatchRowError)) continue;
    expect(error.row).toBe(row);
    if (error.code === '23505') {
      expect(mode).toBe('insert');
      // An earlier row has the key: a row never meets what it has stored itself.
      const earlier = added.slice(
        0,
        added.findIndex((other) => other.row === row),
      );
      expect(earlier.some((other) => other.row.id === row.id && !other.isBad)).toBe(true);
    } else {
      expect([error.code, isBad]).toEqual(['23514', true]);
    }
  }
}

/** What the table holds is what the outcomes say; `found`: the values stored of a key. */
function checkKey(mode: Plan['mode'], added: readonly Added[], found: readonly number[]): void {
  const of = (...outcomes: readonly Added['outcome'][]): number[] =>
    added.filter(({ outcome }) => outcomes.includes(outcome)).map(({ row }) => row.value);
  const [stored, perhaps] = [of('stored'), of('stored', 'ambiguous')];
  if (mode === 'delete') {
    if (stored.length > 0) expect(found).toEqual([]);
    if (perhaps.length === 0) expect(found).toEqual([0]);
    return;
  }
  expect(perhaps).toEqual(expect.arrayContaining([...found]));
  expect(new Set(found).size).toBe(found.length);
  if (mode === 'keyless') {
    expect(found).toEqual(expect.arrayContaining(stored));
    return;
  }
  expect(found.length).toBeLessThanOrEqual(1);
  if (stored.length > 0) expect(found).toHaveLength(1);
  if (mode === 'insert') {
    // One row of a key at most is acknowledged, and it is the one that is there.
    expect(stored.length).toBeLessThanOrEqual(1);
    if (stored.length > 0) expect(found).toEqual(stored);
  }
  if (stored.length !== perhaps.length || stored.length === 0) return;
  if (mode === 'upsert') expect(found).toEqual([stored.at(-1)]);
  if (mode === 'nothing') expect(found).toEqual([stored[0]]);
}

onEachServer('the batcher behind a proxy that cuts', ({ url }) => {
  let db: Database;
  let proxy: Proxy;
  const keyed = freshName('faults_keyed');
  const keyless = freshName('faults_keyless');
  let runs = 0;

  beforeAll(async () => {
    db = await connect(url);
    proxy = await startProxy(url);
    const columns = (id: string): string =>
      `(${id}, value INT8 NOT NULL CHECK (value >= 0), note TEXT)`;
    await db.script(`CREATE TABLE ${keyed} ${columns('id INT8 PRIMARY KEY')};
      CREATE TABLE ${keyless} ${columns('id INT8')}`);
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await db.script(`DROP TABLE ${keyed}, ${keyless}`);
    await db.close();
  });

  async function check(one: Plan): Promise<void> {
    const table = one.mode === 'keyless' ? keyless : keyed;
    const base = BigInt(++runs * KEYS);
    const end = base + BigInt(KEYS) - 1n;
    const name = sql.identifier(table);
    if (one.mode === 'delete') {
      await db.query`INSERT INTO ${name} (id, value)
        SELECT id, 0 FROM generate_series(${base}::INT8, ${end}::INT8) AS ids (id)`;
    }
    const added = await execute(one, table, proxy, base);
    expect(added).toHaveLength(one.rows.length);
    checkRefusals(one, added);
    const { rows } = await db.query<{ id: bigint; value: bigint }>`
      SELECT id, value FROM ${name} WHERE id BETWEEN ${base} AND ${end}`;
    for (let id = base; id <= end; id++) {
      const found = rows.filter((row) => row.id === id).map(({ value }) => Number(value));
      const ofKey = added.filter(({ row }) => row.id === id);
      checkKey(one.mode, ofKey, found);
    }
  }

  it('loses nothing, stores nothing twice, and names what it refuses', async () => {
    await fc.assert(fc.asyncProperty(plan, check), {
      ...{ numRuns: RUNS, seed: SEED },
      // Which step meets which cut is not the same twice, so shrinking finds little.
      endOnFailure: true,
    });
  });
});
