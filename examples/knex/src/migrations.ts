/** The migrations, in order. Knex writes down in `knex_migrations` which it has applied. */

import type { Knex } from 'knex';

interface Migration extends Knex.Migration {
  readonly name: string;
}

const migrations: readonly Migration[] = [
  {
    name: '20261101_accounts',
    async up(knex) {
      await knex.schema.createTable('account', (table) => {
        table.integer('id').primary();
        table.integer('balance').notNullable();
        table.check('balance >= 0', [], 'account_balance');
      });
      await knex.schema.createTable('transfer', (table) => {
        table.bigIncrements('id');
        table.integer('from_account').notNullable().references('account.id');
        table.integer('to_account').notNullable().references('account.id');
        table.integer('amount').notNullable();
      });
    },
    async down(knex) {
      await knex.schema.dropTable('transfer').dropTable('account');
    },
  },
];

/** Where Knex finds them. */
export const migrationSource: Knex.MigrationSource<Migration> = {
  getMigrations: () => Promise.resolve([...migrations]),
  getMigrationName: ({ name }) => name,
  getMigration: (migration) => Promise.resolve(migration),
};
