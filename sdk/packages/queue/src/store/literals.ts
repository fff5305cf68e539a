/**
 * Values that the planner must see, so they are part of the text.
 *
 * A partial index is used only for a state that is written in the query. With a limit as a parameter
 * a planner expects many rows, and would read the whole table to join them.
 */

import type { Sql } from '@braiddb/sdk';
import { sql } from '@braiddb/sdk';

/** A state of a job. */
export function stateIs(state: 'ready' | 'delayed' | 'blocked' | 'active' | 'dead'): Sql {
  return sql.unsafe(`state = '${state}'`);
}

/** A number of rows. */
export function limit(rows: number): Sql {
  return sql.unsafe(`LIMIT ${Math.trunc(rows)}`);
}
