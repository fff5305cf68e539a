/**
 * Question: how long does it take to delete 1,000 parents with all rows below them?
 *
 * Every measured DELETE really deletes: the tables are made and filled again for it. Afterwards
 * every table is counted: the parents on both sides of the deleted ones and their children must be
 * there, and nothing else.
 */

import type { Side } from '../sides.js';
import { onOne } from '../sides.js';
import type { SuitePlan } from '../suite.js';
import { median } from '../suite.js';
import type { Placement, Shape } from './shapes.js';
import { counted, drop, fill, rowsOf, shapes } from './shapes.js';

/** A way to delete. */
interface Way {
  readonly name: string;
  readonly side: Side['name'];
  readonly placement: Placement;
  readonly before?: string;
  readonly returning?: string;
}

const WAYS: readonly Way[] = [
  {
    name: 'range delete, RETURNING NOTHING',
    side: 'BraidDB',
    placement: 'interleaved',
    returning: ' RETURNING NOTHING',
  },
  { name: 'range delete, counted', side: 'BraidDB', placement: 'interleaved' },
  {
    name: 'the same, range_delete = off',
    side: 'BraidDB',
    placement: 'interleaved',
    before: 'SET range_delete = off',
  },
  { name: 'ordinary tables, cascade', side: 'BraidDB', placement: 'ordinary' },
  { name: 'PostgreSQL, cascade', side: 'PostgreSQL', placement: 'ordinary' },
];

/** The parents that are not deleted: one before, one behind. */
const STAYING = 2;
/** More rows than this are deleted once, not once a round. */
const ROWS_ONCE = 150_000;

/** What was measured of one shape, size and way. */
export interface DeleteCell {
  readonly shape: string;
  readonly children: number;
  /** Deleted, of all tables. */
  readonly rows: number;
  readonly way: string;
  readonly medianMs: number;
  readonly roundsMs: readonly number[];
  /** Why there is no time. */
  readonly refused: string | undefined;
}

/** Measures every shape in every size and way. */
export async function measureDeletes(
  plan: SuitePlan,
  parents: number,
  sizes: readonly number[],
): Promise<DeleteCell[]> {
  const cells: DeleteCell[] = [];
  for (const children of sizes) {
    for (const shape of shapes(children)) {
      const rows = shape.tables.reduce((sum, table) => sum + rowsOf(shape, table, parents), 0);
      const roundsMs = new Map<string, number[]>(WAYS.map((way) => [way.name, []]));
      const refused = new Map<string, string>();
      for (let round = 0; round < (rows > ROWS_ONCE ? 1 : plan.rounds); round++) {
        for (const way of WAYS) {
          const side = plan.sides.find((one) => one.name === way.side);
          if (side === undefined) continue;
          plan.print(`delete: ${shape.name}, ${children} children, ${way.name}`);
          const tookMs = await measure(side, shape, way, parents);
          if (typeof tookMs === 'number') roundsMs.get(way.name)?.push(tookMs);
          else refused.set(way.name, tookMs);
        }
      }
      for (const [way, all] of roundsMs) {
        const of = { shape: shape.name, children, rows, way, refused: refused.get(way) };
        cells.push({ ...of, medianMs: median(all), roundsMs: all });
      }
    }
  }
  return cells;
}

/** One DELETE of fresh data, in milliseconds, or why the server would not do it. */
async function measure(
  side: Side,
  shape: Shape,
  way: Way,
  parents: number,
): Promise<number | string> {
  return onOne(side, async (client) => {
    await fill(client, shape, way.placement, parents + STAYING);
    if (side.name === 'PostgreSQL') await client.query('VACUUM ANALYZE');
    if (way.before !== undefined) await client.query(way.before);
    const text = `DELETE FROM t0 WHERE a BETWEEN 2 AND ${parents + 1}${way.returning ?? ''}`;
    const startMs = performance.now();
    let rowCount: number | null;
    try {
      ({ rowCount } = await client.query(text));
    } catch (error) {
      // Too much for one transaction: then nothing is deleted.
      await counted(client, shape, () => parents + STAYING);
      await drop(client);
      return String(error);
    }
    const tookMs = performance.now() - startMs;
    const told = way.returning === undefined ? parents : 0;
    if ((rowCount ?? 0) !== told) throw new Error(`${rowCount ?? 'no'} rows deleted, not ${told}`);
    await counted(client, shape, () => STAYING);
    await drop(client);
    return tookMs;
  });
}

/** A line for each shape and size, the ways side by side. */
export function deleteTable(cells: readonly DeleteCell[]): string[][] {
  const groups = new Map<string, DeleteCell[]>();
  for (const cell of cells) {
    const name = `${cell.shape}, ${cell.children}`;
    groups.set(name, [...(groups.get(name) ?? []), cell]);
  }
  return [
    ['delete of all parents, ms', 'rows', ...WAYS.map((way) => way.name)],
    ...[...groups].map(([name, group]) => [
      ...[name, String(group[0]?.rows ?? 0)],
      ...WAYS.map((way) => {
        const cell = group.find((one) => one.way === way.name);
        return cell?.refused ?? cell?.medianMs.toFixed(2) ?? '';
      }),
    ]),
  ];
}
