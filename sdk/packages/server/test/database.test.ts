/** `createDatabase`: databases that are fresh, quick and gone afterwards. */

import { connect } from '@braiddb/sdk';
import { expect, it } from 'vitest';

import { createDatabase, ServerOptionError, startServer } from '../src/index.js';
import { withBinary } from './binary.js';

/** What a fresh database may take: a test may want one for itself. */
const CREATE_MAX_MS = 50;

withBinary('createDatabase', (binary) => {
  it('makes databases that know nothing of each other', async () => {
    await using server = await startServer({ binary });
    await using first = await createDatabase(server);
    await using second = await createDatabase(new URL(server.url), { prefix: 'Größe 1' });
    expect(second.name).toMatch(/^Größe 1_[0-9a-f]{12}$/);
    for (const { url, name } of [first, second]) {
      await using db = await connect(url);
      expect(await db.one`SELECT current_database() AS name`).toEqual({ name });
      await db.script('CREATE TABLE same_name (id INT4 PRIMARY KEY)');
    }
  });

  it(`takes less than ${CREATE_MAX_MS} ms`, async () => {
    await using server = await startServer({ binary });
    const times: number[] = [];
    for (let round = 0; round < 5; round++) {
      const startMs = performance.now();
      const database = await createDatabase(server);
      times.push(performance.now() - startMs);
      await database.drop();
    }
    // The quickest: other programs of this machine may hold up any of them.
    expect(Math.min(...times)).toBeLessThan(CREATE_MAX_MS);
  });

  it('drops a database that is in use, and one whose server has gone', async () => {
    const server = await startServer({ binary });
    const database = await createDatabase(server);
    const late = await createDatabase(server);
    const db = await connect(database.url);
    await db.one`SELECT 1 AS a`;
    await database.drop();
    await database.drop();
    await db.close();
    await expect(connect(database.url)).rejects.toMatchObject({ code: '3D000' });
    await server.close();
    await late.drop();
  });

  it('refuses a prefix that is no name, and a server that is not there', async () => {
    const url = 'postgresql://root@127.0.0.1:1/defaultdb';
    for (const prefix of ['', 'a"b', 'x'.repeat(41), 'ö'.repeat(21), 7]) {
      const creating = createDatabase(url, { prefix } as never);
      await expect(creating).rejects.toBeInstanceOf(ServerOptionError);
    }
    await expect(createDatabase(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
