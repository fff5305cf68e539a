/** Every function and method, with values that it cannot take in each of its arguments. */

import { connect } from '@braiddb/sdk';
import { expect, it } from 'vitest';

import { freshName, onEachServer } from '../../../test/targets.js';
import { findRawErrors, SOME_VALUES } from '../../../test/wrong-calls.js';
import { openQueue, schemaSql } from '../src/index.js';

onEachServer('wrong calls', ({ url }) => {
  it('say what is wrong', async () => {
    const schema = freshName('queue_wrong');
    await using db = await connect(url);
    await using queue = openQueue<{ mail: unknown }>(db, { schema, queues: { mail: {} } });
    await queue.migrate();
    const handler = (): undefined => undefined;
    const settings = { queues: { mail: {} } };
    const soon = { signal: AbortSignal.timeout(60_000) };
    const calls = {
      openQueue: (value: never) => openQueue(value, settings),
      'openQueue options': (value: never) => openQueue(db, value),
      'openQueue queues': (value: never) => openQueue(db, { queues: value }),
      'openQueue settings': (value: never) => openQueue(db, { queues: { mail: value } }),
      'openQueue schema': (value: never) => openQueue(db, { ...settings, schema: value }),
      'openQueue onError': (value: never) => openQueue(db, { ...settings, onError: value }),
      schemaSql: (value: never) => schemaSql(value),
      'schemaSql schema': (value: never) => schemaSql({ schema: value, target: value }),
      enqueue: (value: never) => queue.enqueue(value, null as never),
      'enqueue payload': (value: never) => queue.enqueue('mail', value),
      'enqueue options': (value: never) => queue.enqueue('mail', null, value),
      'enqueue key': (value: never) => queue.enqueue('mail', null, { key: value }),
      'enqueue in': (value: never) => queue.enqueue(value, 'mail', null),
      enqueueMany: (value: never) => queue.enqueueMany('mail', value),
      'enqueueMany job': (value: never) => queue.enqueueMany('mail', [value]),
      work: (value: never) => queue.work(value, handler),
      'work options': (value: never) => queue.work('mail', value, handler),
      'work handler': (value: never) => queue.work('mail', { concurrency: 1 }, value),
      'workBatch options': (value: never) => queue.workBatch('mail', value, handler),
      'workLong options': (value: never) => queue.workLong('mail', value, handler),
      'cron id': (value: never) => queue.cron(value, '@daily', 'mail', null),
      'cron pattern': (value: never) => queue.cron('id', value, 'mail', null),
      'cron queue': (value: never) => queue.cron('id', '@daily', value, null as never),
      'cron payload': (value: never) => queue.cron('id', '@daily', 'mail', value),
      'cron options': (value: never) => queue.cron('id', '@daily', 'mail', null, value),
      'cron zone': (value: never) =>
        queue.cron('id', '@daily', 'mail', null, { timeZone: value, missed: value }),
      removeCron: (value: never) => queue.removeCron(value),
      dead: (value: never) => queue.dead(value),
      'dead options': (value: never) => queue.dead('mail', value),
      'dead ids': (value: never) => queue.dead('mail', { ids: value }),
      redrive: (value: never) => queue.redrive(value),
      'redrive options': (value: never) => queue.redrive('mail', value),
      discard: (value: never) => queue.discard('mail', value),
    };
    expect(await findRawErrors(calls)).toEqual([]);
    await db.transaction((tx) => tx.script(`DELETE FROM ${schema}.job`));
    const ends = {
      idle: (value: never) => queue.idle(value, soon),
      'idle options': (value: never) => queue.idle('mail', value),
      close: (value: never) => openQueue(db, { ...settings, schema }).close(value),
    };
    expect(await findRawErrors(ends, SOME_VALUES)).toEqual([]);
    await queue.close();
    await db.script(`DROP SCHEMA ${schema} CASCADE`);
  });
});
