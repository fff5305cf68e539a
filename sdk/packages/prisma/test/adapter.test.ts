/** The adapter: values, errors, transactions of Prisma's own, and what is refused. */

import { connect, ConnectionError, OptionError, UsageError } from '@braiddb/sdk';
import { ColumnTypeEnum, DriverAdapterError } from '@prisma/driver-adapter-utils';
import { expect, it } from 'vitest';

import { startProxy } from '../../../test/proxy.js';
import { freshName, onEachServer } from '../../../test/targets.js';
import type { PrismaClientLike } from '../src/index.js';
import { PrismaBraid, transaction } from '../src/index.js';
import type { Argument } from './client.js';
import { clientOn, queryOf } from './client.js';

async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it was to fail');
}

const moment = '2026-01-02T03:04:05.678Z';
const bytes = Uint8Array.of(1, 2, 255);
const uuid = '00000000-0000-0000-0000-00000000000a';

/** Each type: an argument, the type in SQL, the value that comes back, and Prisma's type of it. */
const VALUES: readonly (readonly [Argument, string, unknown, keyof typeof ColumnTypeEnum])[] = [
  [[7, 'int'], 'INT2', 7, 'Int32'],
  [[7, 'int'], 'INT4', 7, 'Int32'],
  [[9_007_199_254_740_993n, 'bigint'], 'INT8', '9007199254740993', 'Int64'],
  [[1.5, 'float'], 'FLOAT4', 1.5, 'Float'],
  [[0.1, 'float'], 'FLOAT8', 0.1, 'Double'],
  [['12345678901234567890.10', 'decimal'], 'NUMERIC', '12345678901234567890.10', 'Numeric'],
  [[true, 'boolean'], 'BOOL', true, 'Boolean'],
  [['sea, and "land"', 'string'], 'TEXT', 'sea, and "land"', 'Text'],
  [['ab', 'string'], 'VARCHAR(4)', 'ab', 'Text'],
  [[moment, 'datetime', 'DATE'], 'DATE', '2026-01-02', 'Date'],
  [[moment, 'datetime', 'TIME'], 'TIME', '03:04:05.678', 'Time'],
  [[moment, 'datetime'], 'TIMESTAMP', '2026-01-02T03:04:05.678+00:00', 'DateTime'],
  [[new Date(moment), 'datetime'], 'TIMESTAMPTZ', '2026-01-02T03:04:05.678+00:00', 'DateTime'],
  [['{"a":[1,null]}', 'json'], 'JSON', '{"a":[1,null]}', 'Json'],
  [['{"a": [1, null]}', 'json'], 'JSONB', '{"a": [1, null]}', 'Json'],
  [[uuid, 'uuid'], 'UUID', uuid, 'Uuid'],
  [[bytes, 'bytes'], 'BYTEA', Buffer.from(bytes), 'Bytes'],
  [[Buffer.from(bytes).toString('base64'), 'bytes'], 'BYTEA', Buffer.from(bytes), 'Bytes'],
  [[[1, 2], 'int'], 'INT4[]', [1, 2], 'Int32Array'],
  [[[1n], 'bigint'], 'INT8[]', ['1'], 'Int64Array'],
  [[[true, false], 'boolean'], 'BOOL[]', [true, false], 'BooleanArray'],
  [[['a', 'b "c"'], 'string'], 'TEXT[]', ['a', 'b "c"'], 'TextArray'],
  [[[moment], 'datetime'], 'TIMESTAMPTZ[]', ['2026-01-02T03:04:05.678+00:00'], 'DateTimeArray'],
  [[[uuid], 'uuid'], 'UUID[]', [uuid], 'UuidArray'],
];

onEachServer('the adapter', ({ url }) => {
  it('hands values on in both directions', async () => {
    await using client = await clientOn(url, 1);
    for (const [argument, type, expected, column] of VALUES) {
      const select = queryOf(`SELECT $1::${type} AS value, NULL::${type} AS none`, argument);
      const { columnNames, columnTypes, rows } = await client.adapter.queryRaw(select);
      expect(columnNames).toEqual(['value', 'none']);
      expect([type, rows]).toEqual([type, [[expected, null]]]);
      expect(columnTypes).toEqual([ColumnTypeEnum[column], ColumnTypeEnum[column]]);
    }
  });

  it('keeps moments where the session has another time zone', async () => {
    await using client = await clientOn(url, 1);
    const read = await client.$transaction(async (tx) => {
      await tx.executeRaw(queryOf(`SET LOCAL timezone = 'Asia/Kolkata'`));
      return tx.queryRaw(queryOf('SELECT $1::TIMESTAMPTZ', [moment, 'datetime']));
    });
    expect(read.rows).toEqual([['2026-01-02T08:34:05.678+05:30']]);
  });

  it('reads enums as text, and refuses types that Prisma does not know', async () => {
    await using client = await clientOn(url, 1);
    const mood = freshName('mood');
    await client.adapter.executeScript(`CREATE TYPE ${mood} AS ENUM ('sad', 'happy'); SELECT 1`);
    const { columnTypes, rows } = await client.adapter.queryRaw(queryOf(`SELECT 'sad'::${mood}`));
    expect([columnTypes, rows]).toEqual([[ColumnTypeEnum.Text], [['sad']]]);
    await client.adapter.executeScript(`DROP TYPE ${mood}`);
    const unknown = client.adapter.queryRaw(queryOf(`SELECT INTERVAL '1 day'`));
    expect(await failure(unknown)).toMatchObject({ cause: { kind: 'UnsupportedNativeDataType' } });
  });

  it('reports errors in the words of Prisma', async () => {
    await using client = await clientOn(url, 1);
    const [owner, thing] = [freshName('owner'), freshName('thing')];
    await client.adapter.executeScript(`CREATE TABLE ${owner} (id INT4 PRIMARY KEY);
      CREATE TABLE ${thing} (id INT4 PRIMARY KEY, owner INT4 REFERENCES ${owner},
        name VARCHAR(3) NOT NULL, n INT4 CHECK (n > 0));
      INSERT INTO ${thing} VALUES (1, NULL, 'a', 1)`);
    const insert = `INSERT INTO ${thing} VALUES`;
    const cases: readonly (readonly [string, object])[] = [
      [
        `${insert} (1, NULL, 'a', 1)`,
        { kind: 'UniqueConstraintViolation', constraint: { fields: ['id'] }, table: thing },
      ],
      [
        `${insert} (2, 9, 'a', 1)`,
        { kind: 'ForeignKeyConstraintViolation', constraint: { index: `${thing}_owner_fkey` } },
      ],
      [
        `${insert} (2, NULL, NULL, 1)`,
        { kind: 'NullConstraintViolation', constraint: { fields: ['name'] } },
      ],
      [`${insert} (2, NULL, 'a', 0)`, { kind: 'postgres', code: '23514' }],
      [`${insert} (2, NULL, 'abcd', 1)`, { kind: 'LengthMismatch', originalCode: '22001' }],
      [`SELECT 100000::INT2`, { kind: 'ValueOutOfRange' }],
      [`SELECT 'x'::INT4`, { kind: 'InvalidInputValue' }],
      [`SELECT * FROM ${thing}_none`, { kind: 'TableDoesNotExist', table: `${thing}_none` }],
      [`SELECT none FROM ${thing}`, { kind: 'ColumnNotFound', column: 'none' }],
      [`SELECT 1/0`, { kind: 'postgres', code: '22012', originalCode: '22012' }],
    ];
    for (const [text, cause] of cases) {
      const error = await failure(client.adapter.queryRaw(queryOf(text)));
      expect(error).toBeInstanceOf(DriverAdapterError);
      expect([text, (error as Error).cause]).toMatchObject([text, cause]);
    }
    expect(await client.adapter.executeRaw(queryOf(`UPDATE ${thing} SET n = 2`))).toBe(1);
    await client.adapter.executeScript(`DROP TABLE ${thing}, ${owner}`);
  });

  it('reports a lost connection in the words of Prisma', async () => {
    await using proxy = await startProxy(url);
    await using client = await clientOn(proxy.url, 1);
    proxy.judge = (chunk) => (chunk.includes('pg_notify') ? 'cut after' : 'pass');
    // Sent outside of a transaction, so it may have taken effect: it does not run again.
    const lost = client.adapter.queryRaw(queryOf(`SELECT pg_notify('a', 'b')`));
    expect(await failure(lost)).toMatchObject({ cause: { kind: 'ConnectionClosed' } });
  });

  it('runs transactions of Prisma itself, once', async () => {
    await using client = await clientOn(url, 1);
    const table = freshName('own');
    await client.adapter.executeScript(`CREATE TABLE ${table} (id INT4 PRIMARY KEY)`);
    const level = queryOf(`SELECT current_setting('transaction_isolation')`);
    const read = await client.$transaction(
      async (tx) => {
        await tx.executeRaw(queryOf(`INSERT INTO ${table} VALUES (1)`));
        await tx.createSavepoint?.('s');
        await failure(tx.executeRaw(queryOf(`INSERT INTO ${table} VALUES (1)`)));
        await tx.rollbackToSavepoint?.('s');
        await tx.releaseSavepoint?.('s');
        return tx.queryRaw(level);
      },
      { isolationLevel: 'REPEATABLE READ' },
    );
    expect(read.rows).toEqual([['repeatable read']]);
    const mine = new Error('mine');
    const undone = client.$transaction(async (tx) => {
      await tx.executeRaw(queryOf(`DELETE FROM ${table}`));
      throw mine;
    });
    expect(await failure(undone)).toBe(mine);
    const { rows } = await client.adapter.queryRaw(queryOf(`SELECT id FROM ${table}`));
    expect(rows).toEqual([[1]]);
    const unknown = client.$transaction(() => Promise.resolve(), { isolationLevel: 'SNAPSHOT' });
    expect(await failure(unknown)).toBeInstanceOf(OptionError);
    await client.adapter.executeScript(`DROP TABLE ${table}`);
  });

  it('opens and closes a database of its own', async () => {
    let opened = 0;
    const db = (): ReturnType<typeof connect> => {
      opened += 1;
      return connect(url, { connectionsMax: 1 });
    };
    const adapter = await new PrismaBraid({ db, schema: 'public' }).connect();
    expect(adapter.getConnectionInfo?.()).toMatchObject({ schemaName: 'public' });
    expect((await adapter.queryRaw(queryOf('SELECT 1::INT4'))).rows).toEqual([[1]]);
    await adapter.dispose();
    expect(await failure(adapter.queryRaw(queryOf('SELECT 1')))).toBeInstanceOf(UsageError);
    expect(opened).toBe(1);
    const away = new PrismaBraid({ db: () => Promise.reject(new ConnectionError('away')) });
    expect(await failure(away.connect())).toBeInstanceOf(ConnectionError);
    expect(() => new PrismaBraid({ db: url as never })).toThrow(OptionError);
  });

  it('refuses transactions, clients of other adapters and what is no function', async () => {
    await using client = await clientOn(url);
    const nested = transaction(client, (tx) =>
      transaction(tx as unknown as PrismaClientLike, () => Promise.resolve()),
    );
    expect(await failure(nested)).toBeInstanceOf(UsageError);
    const other = { $transaction: (fn: (tx: object) => Promise<unknown>) => fn({}) };
    expect(await failure(transaction(other, () => Promise.resolve()))).toBeInstanceOf(UsageError);
    const reason = new Error('no server');
    const away = { $transaction: () => Promise.reject(reason) };
    expect(await failure(transaction(away, () => Promise.resolve()))).toBe(reason);
    const noFunction = transaction(client, { attemptsMax: 3 } as never);
    expect(await failure(noFunction)).toBeInstanceOf(UsageError);
  });
});
