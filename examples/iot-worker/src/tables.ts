/**
 * The tables, and all SQL of the example.
 *
 * ```text
 *  /iot_sensor/'roof'                              newest value, in a column family of its own
 *  /iot_sensor/'roof'/iot_day/2026-01-31           the period that retention deletes
 *  /iot_sensor/'roof'/iot_day/2026-01-31/iot_reading/…
 * ```
 *
 * On BraidDB a day is interleaved in its sensor, and a reading in its day. The readings of a sensor are
 * thus one range of keys, and so are those of its old days: they end by one range delete.
 */

import type { Database, Transaction } from '@braiddb/sdk';
import { createOnce, sql } from '@braiddb/sdk';

import type { SensorEvent } from './events.js';

/** Creates the tables where they are missing. Several programs may do so at once. */
export async function createTables(db: Database): Promise<void> {
  const isBraid = db.server.kind === 'braiddb';
  const within = (parent: string, columns: string): ReturnType<typeof sql> => {
    const clause = `${parent} (${columns}) ON DELETE CASCADE`;
    return isBraid
      ? sql.unsafe(`) INTERLEAVE IN PARENT ${clause}`)
      : sql.unsafe(`, FOREIGN KEY (${columns}) REFERENCES ${clause})`);
  };
  // Every batch changes the newest values. In a family of their own they are apart from the columns
  // that a new reading looks at.
  const families = sql.unsafe(
    isBraid ? ', FAMILY base (sensor, since), FAMILY newest (last_at, last_value)' : '',
  );
  await createOnce(
    db,
    sql`CREATE TABLE IF NOT EXISTS iot_sensor (
      sensor TEXT PRIMARY KEY,
      since TIMESTAMPTZ NOT NULL DEFAULT now(),
      last_at TIMESTAMPTZ,
      last_value FLOAT8${families})`,
  );
  await createOnce(
    db,
    sql`CREATE TABLE IF NOT EXISTS iot_day (
      sensor TEXT NOT NULL,
      day DATE NOT NULL,
      PRIMARY KEY (sensor, day)${within('iot_sensor', 'sensor')}`,
  );
  await createOnce(
    db,
    sql`CREATE TABLE IF NOT EXISTS iot_reading (
      sensor TEXT NOT NULL,
      day DATE NOT NULL,
      taken_at TIMESTAMPTZ NOT NULL,
      event_id TEXT NOT NULL,
      value FLOAT8 NOT NULL CHECK (value BETWEEN -1000000 AND 1000000),
      PRIMARY KEY (sensor, day, taken_at, event_id)${within('iot_day', 'sensor, day')}`,
  );
}

/** The day that a reading belongs to, in UTC: `2026-01-31`. */
export function dayOf(moment: Date): string {
  // Years beyond 9999 have a sign in ISO 8601, which SQL does not know.
  return moment.toISOString().replace(/T.*$/, '').replace(/^\+0*/, '');
}

/**
 * Stores readings, their sensors and the newest values, in the transaction of the caller. What has
 * been stored already is left as it is: the key of a reading has the id of its event.
 *
 * Awaits the insert that may be refused, so the caller sees the refusal and not a failed COMMIT.
 */
export async function storeReadings(
  tx: Transaction,
  events: readonly SensorEvent[],
): Promise<void> {
  const newest = new Map<string, SensorEvent>();
  const days = new Map<string, { sensor: string; day: string }>();
  for (const event of events) {
    const { sensor, takenAt } = event;
    const known = newest.get(sensor);
    if (known === undefined || known.takenAt < takenAt) newest.set(sensor, event);
    const day = dayOf(takenAt);
    days.set(`${sensor} ${day}`, { sensor, day });
  }
  // In the order of the keys, so that two workers rarely wait for each other in a circle.
  const sensors = [...newest.keys()].sort();
  const last = sensors.flatMap((sensor) => newest.get(sensor) ?? []);
  const dayRows = [...days].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  await tx.run`
    INSERT INTO iot_sensor (sensor) SELECT n FROM unnest(${sensors}::text[]) AS n
    ON CONFLICT (sensor) DO NOTHING`;
  await tx.run`
    INSERT INTO iot_day (sensor, day)
    SELECT * FROM unnest(${dayRows.map(({ sensor }) => sensor)}::text[],
      ${dayRows.map(({ day }) => day)}::date[])
    ON CONFLICT (sensor, day) DO NOTHING`;
  await tx.query`
    INSERT INTO iot_reading (sensor, day, taken_at, event_id, value)
    SELECT * FROM unnest(${events.map(({ sensor }) => sensor)}::text[],
      ${events.map(({ takenAt }) => dayOf(takenAt))}::date[],
      ${events.map(({ takenAt }) => takenAt)}::timestamptz[],
      ${events.map(({ id }) => id)}::text[], ${events.map(({ value }) => value)}::float8[])
    ON CONFLICT (sensor, day, taken_at, event_id) DO NOTHING`;
  // Nobody waits for this one: it travels with COMMIT.
  await tx.run`
    UPDATE iot_sensor AS s SET last_at = n.at, last_value = n.value
    FROM unnest(${sensors}::text[], ${last.map(({ takenAt }) => takenAt)}::timestamptz[],
      ${last.map(({ value }) => value)}::float8[]) AS n (sensor, at, value)
    WHERE s.sensor = ANY(${sensors}::text[]) AND s.sensor = n.sensor
      AND (s.last_at IS NULL OR s.last_at < n.at)`;
}

/** Sensors of one statement of {@link deleteOld}. */
const SENSORS_MAX = 100;

/**
 * Deletes all days before `before`, with their readings; how many days. On BraidDB each sensor costs one
 * range delete, whose cost does not depend on the number of readings.
 */
export async function deleteOld(db: Database, before: Date): Promise<number> {
  const day = dayOf(before);
  let deleted = 0;
  for await (const sensors of pagesOfSensors(db)) {
    deleted += await db.run`
      DELETE FROM iot_day WHERE sensor = ANY(${sensors}::text[]) AND day < ${day}::date`.count();
  }
  return deleted;
}

async function* pagesOfSensors(db: Database): AsyncGenerator<string[]> {
  let after = '';
  for (;;) {
    const { rows } = await db.query<{ sensor: string }>`
      SELECT sensor FROM iot_sensor WHERE sensor > ${after} ORDER BY sensor LIMIT ${SENSORS_MAX}`;
    const sensors = rows.map(({ sensor }) => sensor);
    if (sensors.length > 0) yield sensors;
    if (sensors.length < SENSORS_MAX) return;
    after = sensors.at(-1) ?? after;
  }
}

/** A sensor with its newest value and its last readings. */
export interface SensorView {
  readonly sensor: string;
  readonly lastAt: Date | null;
  readonly lastValue: number | null;
  readonly readings: readonly { readonly takenAt: Date; readonly value: number }[];
}

/** Reads a sensor; undefined if it has never sent anything. */
export async function readSensor(
  db: Database,
  sensor: string,
  readingsMax: number,
): Promise<SensorView | undefined> {
  const found = await db.maybeOne<Omit<SensorView, 'readings'>>`
    SELECT sensor, last_at AS "lastAt", last_value AS "lastValue"
    FROM iot_sensor WHERE sensor = ${sensor}`;
  if (found === undefined) return undefined;
  const { rows } = await db.query<SensorView['readings'][number]>`
    SELECT taken_at AS "takenAt", value FROM iot_reading WHERE sensor = ${sensor}
    ORDER BY day DESC, taken_at DESC, event_id DESC LIMIT ${readingsMax}`;
  return { ...found, readings: rows };
}

/** All readings, sensor by sensor, as they come from a cursor. */
export async function* allReadings(db: Database): AsyncGenerator<SensorEvent> {
  const rows = db.stream<SensorEvent>`
    SELECT event_id AS id, sensor, taken_at AS "takenAt", value FROM iot_reading`;
  for await (const row of rows) yield row;
}
