// pg-listen: channels, payloads, several subscribers, errors, a connection that is lost.
import pg from 'pg';
import pgListen from 'pg-listen';

import { fails, say, step, url } from '../support.mjs';

// The package is CommonJS that was compiled from TypeScript.
const createSubscriber = pgListen.default ?? pgListen;

/** Milliseconds that a notification may take. */
const LONGEST_MS = 10_000;

/** A subscriber that keeps the messages of its channels until they are taken. */
function subscribe(name) {
  const settings = { connectionString: url, application_name: name };
  const subscriber = createSubscriber(settings, { retryInterval: 50 });
  const messages = [];
  let wake = () => {};
  subscriber.events.on('notification', ({ channel, payload }) => {
    messages.push([channel, payload]);
    wake();
  });
  subscriber.events.on('error', (error) => say('error', error.message));
  const take = async (count) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      say('no notification in time');
      wake();
    }, LONGEST_MS);
    while (messages.length < count && !late) await new Promise((resolve) => (wake = resolve));
    clearTimeout(timer);
    for (const message of messages.splice(0)) say(message);
  };
  return { subscriber, take };
}

const first = subscribe('first');
const second = subscribe('second');
const other = new pg.Client({ connectionString: url });
await other.connect();

await step('connect and listen', async () => {
  await first.subscriber.connect();
  await second.subscriber.connect();
  await first.subscriber.listenTo('orders');
  await first.subscriber.listenTo('Two Words');
  await second.subscriber.listenTo('orders');
  say(first.subscriber.getSubscribedChannels(), second.subscriber.getSubscribedChannels());
});

await step('payloads', async () => {
  await first.subscriber.notify('orders', { id: 1, text: 'it\'s "quoted" \\ ünïcode' });
  await first.subscriber.notify('orders', [1, null, 'x']);
  await first.subscriber.notify('orders');
  await first.subscriber.notify('Two Words', 'text');
  await first.take(4);
  await second.take(3);
});

await step('after the commit, in its order', async () => {
  await other.query('BEGIN');
  await other.query(`SELECT pg_notify('orders', n::text) FROM generate_series(1, 3) AS n`);
  await other.query(`NOTIFY orders, '1'`);
  await second.subscriber.notify('orders', 'before');
  await first.take(1);
  await other.query('COMMIT');
  await first.take(3);
  await second.take(4);
  await other.query(`BEGIN; NOTIFY orders, '"undone"'; ROLLBACK; NOTIFY orders, '"kept"'`);
  await first.take(1);
  await second.take(1);
});

await step('from a trigger', async () => {
  await other.query(`
    CREATE TABLE orders (id serial PRIMARY KEY, item text);
    CREATE FUNCTION report() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_notify('orders', row_to_json(NEW)::text);
        RETURN NULL;
      END
    $$;
    CREATE TRIGGER report AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION report();
    INSERT INTO orders (item) VALUES ('tea'), ('milk');
  `);
  await first.take(2);
  await second.take(2);
});

await step('unlisten', async () => {
  await first.subscriber.unlisten('orders');
  await first.subscriber.notify('orders', 'for the second');
  await first.subscriber.notify('Two Words', 'for the first');
  await first.take(1);
  await second.take(1);
  say(first.subscriber.getSubscribedChannels());
});

await step('a payload that is too long', async () => {
  await fails(() => first.subscriber.notify('Two Words', 'x'.repeat(8000)));
  await first.subscriber.notify('Two Words', 'y'.repeat(10));
  await first.take(1);
});

await step('a lost connection', async () => {
  const connected = new Promise((resolve) => second.subscriber.events.on('connected', resolve));
  await other.query(`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'second' AND datname = current_database()
  `);
  await connected;
  await second.subscriber.notify('orders', 'after the loss');
  await second.take(1);
  say(second.subscriber.getSubscribedChannels());
});

await step('close', async () => {
  await first.subscriber.unlistenAll();
  say(first.subscriber.getSubscribedChannels());
  await first.subscriber.close();
  await second.subscriber.close();
});

await other.end();
