/** Drizzle's migrations. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connect } from '@braiddb/sdk';
import { migrate as migrateByPg } from 'drizzle-orm/node-postgres/migrator';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { freshName, onEachServer } from '../../../test/targets.js';
import { drizzle, migrate } from '../src/index.js';
import { failure } from './tables.js';

onEachServer('migrate()', ({ url }) => {
  let folder = '';
  const name = freshName('migrated');
  const migrationsSchema = freshName('drizzle');

  /** Writes the files as drizzle-kit does. */
  async function write(files: Readonly<Record<string, string>>): Promise<void> {
    await mkdir(join(folder, 'meta'), { recursive: true });
    const entries = Object.keys(files).map((tag, idx) => ({
      ...{ idx, version: '7', when: 1_000 + idx, tag, breakpoints: true },
    }));
    const journal = { version: '7', dialect: 'postgresql', entries };
    await writeFile(join(folder, 'meta', '_journal.json'), JSON.stringify(journal));
    for (const [tag, text] of Object.entries(files)) {
      await writeFile(join(folder, `${tag}.sql`), text);
    }
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'braiddb-drizzle-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await using client = await connect(url);
    await client.script(`DROP TABLE IF EXISTS ${name}; DROP SCHEMA ${migrationsSchema} CASCADE`);
  });

  it('applies what is new, once, no matter who comes first', async () => {
    await using client = await connect(url);
    const db = drizzle(client);
    const options = { migrationsFolder: folder, migrationsSchema };
    const first = `CREATE TABLE ${name} (id INT4);\n--> statement-breakpoint
      INSERT INTO ${name} VALUES (1); INSERT INTO ${name} VALUES (2);`;
    await write({ '0000_first': first });
    await Promise.all([migrate(db, options), migrate(db, options), migrate(db, options)]);
    expect((await db.execute(`SELECT id FROM ${name}`)).rowCount).toBe(2);
    await write({ '0000_first': first, '0001_second': `INSERT INTO ${name} VALUES (3)` });
    await migrate(db, options);
    await migrate(db, options);
    // Drizzle's own migrator sees the same: there is nothing left to do.
    await migrateByPg(db, options);
    const { rows } = await db.execute(`SELECT id FROM ${name} ORDER BY id`);
    expect(rows).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    await write({
      ...{ '0000_first': first, '0001_second': '' },
      '0002_bad': `INSERT INTO ${name} VALUES (4);\n--> statement-breakpoint\nSELECT nonsense`,
    });
    expect(await failure(migrate(db, options))).toMatchObject({ code: '42703' });
    expect((await db.execute(`SELECT id FROM ${name}`)).rowCount).toBe(3);
  });
});
