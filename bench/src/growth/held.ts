/** Work that a session or a transaction holds much of. */

import type { Work } from './work.js';
import { each, inOneTransaction, joined, statementsOf } from './work.js';

const ITEM = 'CREATE TABLE item (id BIGINT PRIMARY KEY, n BIGINT)';
const dropItem = (): string[] => ['DROP TABLE item'];

const ofSessions: readonly Work[] = [
  statementsOf('temporary tables', 50, (i) => `CREATE TEMP TABLE temp_${i} (a INT)`, {
    finish: () => ['DISCARD TEMP'],
  }),
  statementsOf('LISTEN', 200, (i) => `LISTEN c${i}`, { finish: () => ['UNLISTEN *'] }),
  statementsOf('advisory locks', 200, (i) => `SELECT pg_advisory_lock(${i})`, {
    finish: () => ['SELECT pg_advisory_unlock_all()'],
  }),
  statementsOf('custom settings', 200, (i) => `SET my.s${i} = 'x'`, {
    finish: () => ['RESET ALL'],
  }),
  statementsOf('cursors WITH HOLD', 100, (i) => `DECLARE h${i} CURSOR WITH HOLD FOR SELECT ${i}`, {
    finish: () => ['CLOSE ALL'],
  }),
  statementsOf('large objects', 100, () => 'SELECT lo_create(0)', {
    finish: () => ['SELECT lo_unlink(oid) FROM pg_largeobject_metadata'],
  }),
  {
    name: 'prepared statements of the protocol',
    growth: 'linear',
    size: 200,
    run: async (client, size) => {
      for (let i = 1; i <= size; i++) await client.query({ name: `n${i}`, text: `SELECT ${i}` });
    },
    finish: () => [],
  },
  {
    name: 'unnamed statements beside prepared ones',
    growth: 'constant',
    size: 200,
    prepare: (size) => [joined(size, (i) => `PREPARE p${i} AS SELECT ${i}`, '; ')],
    run: async (client) => {
      for (let i = 1; i <= 200; i++) {
        await client.query({ text: 'SELECT $1::INT', values: [i] });
      }
    },
    finish: () => ['DEALLOCATE ALL'],
  },
];

const ofTransactions: readonly Work[] = [
  inOneTransaction(
    statementsOf('advisory locks until the end', 200, (i) => `SELECT pg_advisory_xact_lock(${i})`),
  ),
  inOneTransaction(statementsOf('savepoints without writes', 200, (i) => `SAVEPOINT s${i}`)),
  inOneTransaction(statementsOf('NOTIFY', 200, (i) => `NOTIFY c, '${i}'`)),
  inOneTransaction(
    statementsOf('updates of one row', 200, (i) => `UPDATE item SET n = ${i} WHERE id = 1`, {
      prepare: () => [ITEM, 'INSERT INTO item VALUES (1, 1)'],
      finish: dropItem,
    }),
  ),
  inOneTransaction({
    name: 'updates of the same rows again',
    growth: 'linear',
    size: 200,
    prepare: () => [ITEM, 'INSERT INTO item SELECT i, i FROM generate_series(0, 99) AS i'],
    run: (client, size) =>
      each(client, size, (i) => `UPDATE item SET n = n + 1 WHERE id = ${i % 100}`),
    finish: dropItem,
  }),
];

/** Work that a session or a transaction holds much of. */
export const HELD_WORKS: readonly Work[] = [...ofSessions, ...ofTransactions];
