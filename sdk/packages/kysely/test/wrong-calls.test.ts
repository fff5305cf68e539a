/** Every function, with values that it cannot take in each of its arguments. */

import { connect } from '@braiddb/sdk';
import { Kysely } from 'kysely';
import { expect, it } from 'vitest';

import { onEachServer } from '../../../test/targets.js';
import { findRawErrors } from '../../../test/wrong-calls.js';
import { BraidDialect, run, session, transaction, withSignal } from '../src/index.js';

onEachServer('wrong calls', ({ url }) => {
  it('say what is wrong', async () => {
    await using db = await connect(url);
    const kysely = new Kysely<object>({ dialect: new BraidDialect({ db }) });
    const { signal } = new AbortController();
    const nothing = (): Promise<void> => Promise.resolve();
    const calls = {
      BraidDialect: (value: never) => new BraidDialect(value),
      'BraidDialect db': (value: never) => new BraidDialect({ db: value }),
      'BraidDialect options': (value: never) =>
        new BraidDialect({ db, migrationLockTimeoutMs: value }),
      transaction: (value: never) => transaction(value, nothing),
      'transaction function': (value: never) => transaction(kysely, value),
      'transaction options': (value: never) => transaction(kysely, value, nothing),
      session: (value: never) => session(value, nothing),
      'session function': (value: never) => session(kysely, value),
      run: (value: never) => run(value),
      withSignal: (value: never) => withSignal(value, nothing),
      'withSignal function': (value: never) => withSignal(signal, value),
    };
    expect(await findRawErrors(calls)).toEqual([]);
  });
});
