/**
 * The clients of the comparison, each as its own documentation writes a transaction of four
 * statements. All run at SERIALIZABLE, on one connection.
 *
 * ```text
 *   SELECT … WHERE id IN ($1, $2) FOR UPDATE      both accounts
 *   UPDATE … SET balance = balance - 1            one of them
 *   UPDATE … SET balance = balance + 1            the other
 *   INSERT INTO network_transfer …
 * ```
 */

import { connect } from '@braiddb/sdk';
import { eq, inArray, sql as drizzleSql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable } from 'drizzle-orm/pg-core';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import postgres from 'postgres';

/** One transfer of 1 between two accounts. */
export interface Transfer {
  readonly id: number;
  readonly from: number;
  readonly to: number;
}

/** A client with its connection. */
export interface TransferClient extends AsyncDisposable {
  readonly transfer: (transfer: Transfer) => Promise<void>;
}

/** A kind of client. */
export interface ClientKind {
  readonly name: string;
  readonly open: (url: string) => Promise<TransferClient>;
}

/** The kinds of clients, the SDK first. */
export const CLIENTS: readonly ClientKind[] = [
  { name: 'SDK', open: openSdk },
  { name: 'postgres.js', open: (url) => openPostgresJs(url, false) },
  { name: 'postgres.js, pipelined', open: (url) => openPostgresJs(url, true) },
  { name: 'Kysely', open: openKysely },
  { name: 'Drizzle', open: openDrizzle },
  { name: 'pg', open: openPg },
];

const BOTH = 2;

function checkRows(count: number): void {
  if (count !== BOTH) throw new Error(`${count} accounts instead of two`);
}

async function openSdk(url: string): Promise<TransferClient> {
  const db = await connect(url, { connectionsMax: 1, prepare: true });
  return {
    async transfer({ id, from, to }) {
      await db.transaction(async (tx) => {
        const { rows } = await tx.query`
          SELECT id, balance FROM network_account WHERE id IN (${from}, ${to})`.forUpdate();
        checkRows(rows.length);
        await tx.run`UPDATE network_account SET balance = balance - 1 WHERE id = ${from}`;
        await tx.run`UPDATE network_account SET balance = balance + 1 WHERE id = ${to}`;
        await tx.run`INSERT INTO network_transfer VALUES (${id}, ${from}, ${to}, 1)`;
      });
    },
    [Symbol.asyncDispose]: () => db.close(),
  };
}

/** `pipelined`: the writes are returned as a list, so that they travel together. */
async function openPostgresJs(url: string, pipelined: boolean): Promise<TransferClient> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  await sql`SELECT 1`;
  return {
    async transfer({ id, from, to }) {
      await sql.begin('isolation level serializable', async (tx) => {
        const rows = await tx`
          SELECT id, balance FROM network_account WHERE id IN (${from}, ${to}) FOR UPDATE`;
        checkRows(rows.length);
        const writes = [
          () => tx`UPDATE network_account SET balance = balance - 1 WHERE id = ${from}`,
          () => tx`UPDATE network_account SET balance = balance + 1 WHERE id = ${to}`,
          () => tx`INSERT INTO network_transfer VALUES (${id}, ${from}, ${to}, 1)`,
        ];
        if (pipelined) await Promise.all(writes.map((write) => write()));
        else for (const write of writes) await write();
      });
    },
    [Symbol.asyncDispose]: () => sql.end(),
  };
}

interface Tables {
  network_account: { id: number; balance: number };
  network_transfer: { id: number; from_id: number; to_id: number; amount: number };
}

function openKysely(url: string): Promise<TransferClient> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  return Promise.resolve({
    async transfer({ id, from, to }) {
      const begin = db.transaction().setIsolationLevel('serializable');
      await begin.execute(async (tx) => {
        const query = tx.selectFrom('network_account').select(['id', 'balance']).forUpdate();
        checkRows((await query.where('id', 'in', [from, to]).execute()).length);
        for (const [account, change] of [[from, -1] as const, [to, 1] as const]) {
          const update = tx.updateTable('network_account').where('id', '=', account);
          await update.set((eb) => ({ balance: eb('balance', '+', change) })).execute();
        }
        const row = { id, from_id: from, to_id: to, amount: 1 };
        await tx.insertInto('network_transfer').values(row).execute();
      });
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  });
}

const account = pgTable('network_account', {
  id: integer('id').primaryKey(),
  balance: integer('balance').notNull(),
});
const transfers = pgTable('network_transfer', {
  id: integer('id').primaryKey(),
  fromId: integer('from_id').notNull(),
  toId: integer('to_id').notNull(),
  amount: integer('amount').notNull(),
});

function openDrizzle(url: string): Promise<TransferClient> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const db = drizzle(pool);
  return Promise.resolve({
    async transfer({ id, from, to }) {
      await db.transaction(
        async (tx) => {
          const query = tx
            .select()
            .from(account)
            .where(inArray(account.id, [from, to]));
          checkRows((await query.for('update')).length);
          for (const [one, change] of [[from, -1] as const, [to, 1] as const]) {
            const balance = drizzleSql`${account.balance} + ${change}`;
            await tx.update(account).set({ balance }).where(eq(account.id, one));
          }
          await tx.insert(transfers).values({ id, fromId: from, toId: to, amount: 1 });
        },
        { isolationLevel: 'serializable' },
      );
    },
    [Symbol.asyncDispose]: () => pool.end(),
  });
}

async function openPg(url: string): Promise<TransferClient> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const change = (name: string, sign: '+' | '-', id: number): Promise<unknown> => {
    const text = `UPDATE network_account SET balance = balance ${sign} 1 WHERE id = $1`;
    return client.query({ name, text, values: [id] });
  };
  return {
    async transfer({ id, from, to }) {
      await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
      const { rows } = await client.query<Tables['network_account']>({
        name: 'accounts',
        text: 'SELECT id, balance FROM network_account WHERE id IN ($1, $2) FOR UPDATE',
        values: [from, to],
      });
      checkRows(rows.length);
      await change('less', '-', from);
      await change('more', '+', to);
      await client.query({
        name: 'transfer',
        text: 'INSERT INTO network_transfer VALUES ($1, $2, $3, 1)',
        values: [id, from, to],
      });
      await client.query('COMMIT');
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}
