// Programs that a tool's folder names in needs.txt, a line each: name, major version, package of
// Debian. Only that version is good, because such a program prints what its version knows.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { aptInstall, onPath, run, strict } from './process.mjs';

function needsOf(folder) {
  const file = join(folder, 'needs.txt');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [program, version, debian] = line.split(/\s+/);
    if (!debian) throw new Error(`needs.txt: three columns expected: ${line}`);
    return { program, version, debian };
  });
}

async function majorOf(program) {
  const { output } = await run(program, ['--version']);
  return /\d+/.exec(output)?.[0];
}

/** Resolves to what hinders the tool in `folder`, and whether it is skipped for that. */
export async function lacking(folder) {
  for (const { program, version, debian } of needsOf(folder)) {
    if (!onPath([program])) await aptInstall([debian]);
    if (!onPath([program])) return { text: `${program} is absent`, skip: !strict };
    const found = await majorOf(program);
    if (found !== version) {
      return { text: `${program} has version ${found}, not ${version}`, skip: true };
    }
  }
  return undefined;
}
