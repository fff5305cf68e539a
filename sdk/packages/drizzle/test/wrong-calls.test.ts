/** Every function, with values that it cannot take in each of its arguments. */

import { connect } from '@braiddb/sdk';
import { expect, it } from 'vitest';

import { onEachServer } from '../../../test/targets.js';
import { findRawErrors } from '../../../test/wrong-calls.js';
import { drizzle, migrate } from '../src/index.js';

onEachServer('wrong calls', ({ url }) => {
  it('say what is wrong', async () => {
    await using client = await connect(url);
    const db = drizzle(client);
    const nothing = (): Promise<void> => Promise.resolve();
    const calls = {
      drizzle: (value: never) => drizzle(value),
      'drizzle client': (value: never) => drizzle({ client: value }),
      transaction: (value: never) => db.transaction(value),
      'transaction options': (value: never) => db.transaction(nothing, value),
      'nested transaction': (value: never) => db.transaction((tx) => tx.transaction(value)),
      run: (value: never) => db.run(value),
      'run inside': (value: never) =>
        db.transaction(async (tx) => {
          await tx.run(value);
        }),
      migrate: (value: never) => migrate(value, { migrationsFolder: 'x' }),
      'migrate options': (value: never) => migrate(db, value),
      'migrate folder': (value: never) => migrate(db, { migrationsFolder: value }),
    };
    expect(await findRawErrors(calls)).toEqual([]);
  });
});
