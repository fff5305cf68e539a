/**
 * `node server/docs/.vitepress/check.mjs`: fails if a link in any document leads nowhere, if the
 * architecture names a file that does not exist, or if a sentence is too long to be read once.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import {
  anchors,
  markdownFiles,
  replaceLinks,
  resolveLink,
  sentences,
  textOf,
  top,
} from './documents.mjs';
import { SIDEBAR, SOURCES } from './pages.mjs';

const SENTENCE_WORDS_MAX = 25;

const dead = [];
let count = 0;
const files = markdownFiles();
for (const from of files) {
  replaceLinks(textOf(from), (target) => {
    count += 1;
    const { file, anchor } = resolveLink(from, target);
    if (!existsSync(join(top, file))) dead.push(`${from}: no file ${target}`);
    else if (anchor !== undefined && !anchors(textOf(file)).has(anchor)) {
      dead.push(`${from}: no heading ${target}`);
    }
    return target;
  });
}

// Files of the server that these documents name exist.
for (const from of files.filter((file) => /ARCHITECTURE|docs\/(architecture|testing)/.test(file))) {
  for (const [, path] of textOf(from).matchAll(/`([\w-]+\/(?:src|tests)\/[\w./-]*)`/g)) {
    if (!existsSync(join(top, 'server', path))) dead.push(`${from}: no file server/${path}`);
  }
}

for (const file of files) {
  for (const sentence of sentences(textOf(file))) {
    const words = sentence.split(/\s+/).length;
    if (words > SENTENCE_WORDS_MAX) dead.push(`${file}: ${words} words: ${sentence}`);
  }
}

// Every page has a place in the navigation, and the other way round.
const linked = new Set(SIDEBAR.flatMap(({ items }) => items.map(({ link }) => link.slice(1))));
const places = files.flatMap((file) => {
  const found = SOURCES.find(([from]) => file === from || file.startsWith(`${from}/`));
  if (found === undefined) return [];
  const place = file === found[0] ? found[1] : `${found[1]}${file.slice(found[0].length)}`;
  return [place.replace(/^\//, '').replace(/(index)?\.md$/, '')];
});
const listed = new Set([...places, 'sdk/api/']);
for (const place of listed) {
  if (place !== '' && !linked.has(place)) dead.push(`pages.mjs: no entry for ${place}`);
}
for (const link of linked) {
  if (!listed.has(link)) dead.push(`pages.mjs: no page ${link}`);
}

process.stdout.write(`${files.length} documents, ${count} links, ${dead.length} faults\n`);
for (const line of dead) process.stdout.write(`  ${line}\n`);
if (dead.length > 0) process.exitCode = 1;
