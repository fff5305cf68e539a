/**
 * The audit: whether what must always hold does hold. It reads every row, so it is for tests and
 * for the end of the day.
 */

import type { Database } from '@braiddb/sdk';
import { sql } from '@braiddb/sdk';

/** What the audit has found, all of one moment. */
export interface Audit {
  /** The sum of all balances. It must be 0. */
  readonly sum: bigint;
  readonly transfers: number;
  /** Sentences about accounts and transfers that are wrong; at most ten of each kind. */
  readonly faults: readonly string[];
}

/** The kinds of faults. Each query returns the names of what is wrong. */
const CHECKS = [
  {
    message: 'a balance that is not the sum of its entries',
    query: sql<{ name: string }>`
      SELECT a.id AS name FROM ledger_account a LEFT JOIN ledger_entry e ON e.account = a.id
      GROUP BY a.id, a.balance HAVING coalesce(sum(e.amount), 0) <> a.balance
      ORDER BY a.id LIMIT 10`,
  },
  {
    message: 'a gap in the numbers of its entries',
    query: sql<{ name: string }>`
      SELECT a.id AS name FROM ledger_account a LEFT JOIN ledger_entry e ON e.account = a.id
      GROUP BY a.id, a.entries
      HAVING count(e.number) <> a.entries OR coalesce(max(e.number), 0) <> a.entries
      ORDER BY a.id LIMIT 10`,
  },
  {
    message: 'other entries than one debit and one credit of its amount',
    query: sql<{ name: string }>`
      SELECT t.key AS name FROM ledger_transfer t LEFT JOIN ledger_entry e ON e.transfer = t.key
      GROUP BY t.key, t.debit, t.credit, t.amount
      HAVING count(*) <> 2
        OR count(CASE WHEN e.account = t.debit AND e.amount = -t.amount THEN 1 END) <> 1
        OR count(CASE WHEN e.account = t.credit AND e.amount = t.amount THEN 1 END) <> 1
      ORDER BY t.key LIMIT 10`,
  },
];

/** Checks the whole ledger in one read-only transaction. */
export function audit(db: Database): Promise<Audit> {
  return db.transaction({ readOnly: true }, async (tx) => {
    const { sum } = await tx.one<{ sum: string }>`
      SELECT coalesce(sum(balance), 0) AS sum FROM ledger_account`;
    const { transfers } = await tx.one<{ transfers: number }>`
      SELECT count(*)::int4 AS transfers FROM ledger_transfer`;
    const faults: string[] = [];
    for (const { message, query } of CHECKS) {
      const { rows } = await tx.query(query);
      faults.push(...rows.map(({ name }) => `"${name}" has ${message}`));
    }
    if (sum !== '0') faults.push(`the balances sum to ${sum}`);
    return { sum: BigInt(sum), transfers, faults };
  });
}
