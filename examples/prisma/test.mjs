/** `npm test`: installs Prisma, generates the client, checks the types and runs the tests. */

import { fileURLToPath } from 'node:url';

import { run } from '../iot-worker/steps.mjs';
import { prepare } from '../start.mjs';

const folder = fileURLToPath(new URL('.', import.meta.url));
await prepare(folder);
const { code } = await run('npx', ['vitest', 'run', '--root', folder]);
process.exitCode = code === 0 ? 0 : 1;
