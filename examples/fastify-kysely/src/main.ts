/**
 * The service until SIGINT or SIGTERM.
 *
 * DATABASE_URL: default a server of its own, with its data in `./shop-data`. PORT: default 3000.
 */

import { startServer } from '@braiddb/server';

import { migrate, openDatabase } from './database.js';
import { makeService } from './service.js';

const given = process.env.DATABASE_URL;
const server = given === undefined ? await startServer({ data: 'shop-data' }) : undefined;
const kysely = openDatabase(given ?? server?.url ?? '');
await migrate(kysely);
const service = makeService(kysely);
const port = Number(process.env.PORT ?? 3000);
process.stdout.write(`the shop is open at ${await service.listen({ port, host: '127.0.0.1' })}\n`);

await new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      resolve();
    });
});
await service.close();
await kysely.destroy();
await server?.close();
