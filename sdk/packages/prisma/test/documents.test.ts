/** The lines of the README are lines of the example, which its own test runs. */

import { readFile } from 'node:fs/promises';

import { expect, it } from 'vitest';

import { blocks } from '../../../test/documents.js';

it('the README shows the example as it is', async () => {
  const bank = new URL('../../../../examples/prisma/src/bank.ts', import.meta.url);
  const source = await readFile(bank, 'utf8');
  const printed = await blocks('packages/prisma/README.md', 'typescript');
  expect(printed).toHaveLength(2);
  for (const { code } of printed) expect(source).toContain(code);
});
