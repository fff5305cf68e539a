/** What the tests test: a small shop that never sells a piece twice. */

import type { Database } from '@braiddb/sdk';

/** There are fewer pieces than were ordered. Nothing was written. */
export class SoldOutError extends Error {
  /** Pieces that are left. */
  readonly left: number;

  constructor(item: string, left: number) {
    super(`only ${left} of "${item}" left`);
    this.name = 'SoldOutError';
    this.left = left;
  }
}

/** Creates the tables, with five lamps in stock. */
export function createShop(db: Database): Promise<void> {
  return db.script(`
    CREATE TABLE stock (item TEXT PRIMARY KEY, pieces INT4 NOT NULL CHECK (pieces >= 0));
    CREATE TABLE orders (
      id INT8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      item TEXT NOT NULL REFERENCES stock,
      pieces INT4 NOT NULL CHECK (pieces > 0));
    INSERT INTO stock VALUES ('lamp', 5)`);
}

/** Orders pieces of an item. Fails with a {@link SoldOutError} if there are fewer. */
export async function order(db: Database, item: string, pieces: number): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ pieces: number }>`
      SELECT pieces FROM stock WHERE item = ${item}`.forUpdate();
    const left = rows[0]?.pieces ?? 0;
    if (left < pieces) throw new SoldOutError(item, left);
    await tx.run`UPDATE stock SET pieces = ${left - pieces} WHERE item = ${item}`;
    await tx.run`INSERT INTO orders (item, pieces) VALUES (${item}, ${pieces})`;
  });
}

/** Pieces of an item that are left. */
export async function piecesLeft(db: Database, item: string): Promise<number> {
  const row = await db.maybeOne<{ pieces: number }>`
    SELECT pieces FROM stock WHERE item = ${item}`;
  return row?.pieces ?? 0;
}
