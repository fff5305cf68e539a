/** The files that documents print: blocks of code with a name, such as `js [first.mjs]`. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The top of the repository. */
export const top = fileURLToPath(new URL('../../../../', import.meta.url));

/** Name and text of each such block of a document. */
export async function labelledBlocks(document: string): Promise<Map<string, string>> {
  const text = await readFile(join(top, document), 'utf8');
  const blocks = text.matchAll(/^```\w+ \[([^\]]+)\]\n([\s\S]*?)^```$/gm);
  return new Map([...blocks].map(([, name = '', code = '']) => [name, code]));
}

/** Writes such files into a folder. */
export async function writeBlocks(
  folder: string,
  blocks: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [name, code] of blocks) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, code);
  }
}
