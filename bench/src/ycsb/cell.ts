/**
 * What is measured: each combination of workload, driver, column families, locking and isolation
 * is a cell. Not every server can do every cell.
 */

/** A server under load. */
export interface YcsbSide {
  readonly name: 'BraidDB' | 'PostgreSQL' | 'CockroachDB';
  readonly url: string;
}

/** A: half reads, half updates of one field. F: half reads, half read-modify-writes of one. */
export type Workload = 'A' | 'F';

/** The SDK, or `pg` with a retry loop of ten lines. */
export type DriverName = 'sdk' | 'pg';

/**
 * `for update`: the read of a read-modify-write says FOR UPDATE (F only). `implicit`: it does not,
 * and the server locks what an UPDATE reads. `off`: that is switched off too.
 */
export type Locking = 'for update' | 'implicit' | 'off';

/** One measurement. */
export interface Cell {
  readonly workload: Workload;
  readonly driver: DriverName;
  /** One column family for each field. */
  readonly families: boolean;
  readonly locking: Locking;
  readonly isolation: 'serializable' | 'read committed';
}

/** All cells that the lists allow. */
export function cellsOf(workloads: readonly Workload[], drivers: readonly DriverName[]): Cell[] {
  const cells: Cell[] = [];
  for (const workload of workloads) {
    for (const driver of drivers) {
      for (const families of [false, true]) {
        for (const locking of ['for update', 'implicit', 'off'] as const) {
          if (workload === 'A' && locking === 'for update') continue;
          for (const isolation of ['serializable', 'read committed'] as const) {
            cells.push({ workload, driver, families, locking, isolation });
          }
        }
      }
    }
  }
  return cells;
}

/** The cell in words; `--only` looks for its text here. */
export function nameOf(cell: Cell): string {
  const families = cell.families ? 'family per field' : 'one family';
  const { workload, driver, locking, isolation } = cell;
  const lock = locking === 'off' ? 'no locks' : locking;
  return `${workload}, ${driver}, ${lock}, ${families}, ${isolation}`;
}

/** Whether a server knows what the cell asks for. */
export function fits(cell: Cell, side: YcsbSide): boolean {
  if (side.name !== 'PostgreSQL') return true;
  // PostgreSQL has no families, and its UPDATE always locks: one cell each, not two.
  return !cell.families && cell.locking !== 'off';
}

/** The statement that sets implicit locking for a session, where the server has it. */
export function lockingSetting(cell: Cell, side: YcsbSide): string | undefined {
  const value = cell.locking === 'off' ? 'off' : 'on';
  if (side.name === 'BraidDB') return `SET implicit_select_for_update = ${value}`;
  if (side.name === 'CockroachDB') return `SET enable_implicit_select_for_update = ${value}`;
  return undefined;
}
