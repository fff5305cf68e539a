/**
 * Draws the pictures of results again, without measuring: `node bench/redraw.mjs [FOLDER]`. Needs the
 * bench to be built (`npm run build --workspace @braiddb/bench`).
 */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { savePictures } from './dist/pictures/draw.js';
import { picturesOf } from './dist/pictures/index.js';

const [folder = fileURLToPath(new URL('results', import.meta.url))] = process.argv.slice(2);

for (const file of await readdir(folder)) {
  if (!file.endsWith('.json')) continue;
  const results = JSON.parse(await readFile(join(folder, file), 'utf8'));
  const paths = await savePictures(folder, picturesOf(file.slice(0, -'.json'.length), results));
  for (const path of paths) process.stdout.write(`${path}\n`);
}
