/** Every function, with values that it cannot take in each of its arguments. */

import { connect } from '@braiddb/sdk';
import { createDatabase, startServer } from '@braiddb/server';
import { generateTypes, migrateDown, migrateUp, migrationStatus } from '@braiddb/server/tools';
import { expect, it } from 'vitest';

import { freshName, onEachServer } from '../../../test/targets.js';
import { findRawErrors } from '../../../test/wrong-calls.js';

onEachServer('wrong calls', ({ url }) => {
  it('say what is wrong', async () => {
    await using db = await connect(url);
    const folder = freshName('no_such_folder');
    // A start that nothing stops would take long: the binary is none.
    const binary = freshName('no_such_binary');
    const calls = {
      startServer: (value: unknown) =>
        startServer(value === undefined ? { binary } : (value as object)),
      'startServer data': (value: never) => startServer({ binary, data: value }),
      'startServer port': (value: never) => startServer({ binary, port: value }),
      'startServer args': (value: never) => startServer({ binary, args: value }),
      createDatabase: (value: never) => createDatabase(value),
      'createDatabase options': (value: never) => createDatabase('x', value),
      'createDatabase prefix': (value: never) => createDatabase('x', { prefix: value }),
      migrateUp: (value: never) => migrateUp(value),
      'migrateUp options': (value: never) => migrateUp(db, value),
      'migrateUp folder': (value: never) => migrateUp(db, { folder: value }),
      'migrateUp table': (value: never) => migrateUp(db, { folder, table: value }),
      migrateDown: (value: never) => migrateDown(value),
      'migrateDown options': (value: never) => migrateDown(db, value),
      'migrateDown steps': (value: never) => migrateDown(db, { folder, steps: value }),
      migrationStatus: (value: never) => migrationStatus(value),
      'migrationStatus options': (value: never) => migrationStatus(db, value),
      generateTypes: (value: never) => generateTypes(value),
      'generateTypes options': (value: never) => generateTypes(db, value),
      'generateTypes schemas': (value: never) => generateTypes(db, { schemas: value }),
      'generateTypes parsers': (value: never) => generateTypes(db, { parsers: value }),
    };
    expect(await findRawErrors(calls)).toEqual([]);
  });
});
