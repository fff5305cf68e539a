/**
 * What the transactions need of a connection: prepared statements, and rows that must be there.
 */

import type pg from 'pg';

/** A statement that each connection prepares once, under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Names a statement for one of the transactions. */
export function statement(name: string, text: string): Statement {
  return { name: `tpcc_${name}`, text };
}

/** A value of a row: `pg` gives NUMERIC and INT8 as text. */
type Row = Readonly<Record<string, string | number | Date | null>>;

/** One connection. */
export class Session {
  readonly #client: pg.Client;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Runs a statement; all rows. */
  async rows({ name, text }: Statement, ...values: unknown[]): Promise<readonly Row[]> {
    const { rows } = await this.#client.query<Row>({ name, text, values });
    return rows;
  }

  /** Runs a statement that has to give one row. */
  async one(statement: Statement, ...values: unknown[]): Promise<Row> {
    const rows = await this.rows(statement, ...values);
    const [row] = rows;
    if (row === undefined || rows.length > 1) {
      throw new Error(`${statement.name} with ${values.join(', ')}: ${rows.length} rows`);
    }
    return row;
  }

  /** Runs a statement that has to write this number of rows. */
  async write(count: number, { name, text }: Statement, ...values: unknown[]): Promise<void> {
    const { rowCount } = await this.#client.query({ name, text, values });
    if (rowCount !== count) {
      throw new Error(`${name} with ${values.join(', ')} has written ${rowCount ?? 0} rows`);
    }
  }

  begin(): Promise<unknown> {
    return this.#client.query('BEGIN');
  }

  commit(): Promise<unknown> {
    return this.#client.query('COMMIT');
  }

  rollback(): Promise<unknown> {
    return this.#client.query('ROLLBACK');
  }
}
