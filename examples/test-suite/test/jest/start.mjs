/** Starts one server for the whole run. The workers of jest inherit the variable. */

import { startServer } from '@braiddb/server';

export default async function start() {
  globalThis.braidServer = await startServer();
  process.env.SERVER_URL = globalThis.braidServer.url;
}
