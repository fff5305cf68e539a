/** Starts one server for the whole run, and stops it afterwards. */

import { startServer } from '@braiddb/server';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    serverUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer();
  project.provide('serverUrl', server.url);
  return () => server.close();
}
