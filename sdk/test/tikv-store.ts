/** The store of gateways: TiKV's stand-in, or a real cluster. */

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A store of several gateways; disposing of it ends the stand-in. */
export interface Store extends Disposable {
  /** For `--store`; without a prefix, so `?prefix=…/` may follow. */
  readonly url: string;
}

/** Starts the stand-in for TiKV, which keeps its data in memory. */
export async function startStandIn(program: string): Promise<Store> {
  const child = spawn(program, [], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('error', reject);
  });
  return { url, [Symbol.dispose]: () => void child.kill('SIGKILL') };
}

/** The cluster that TIKV_PD names, else the stand-in. */
export function openStore(standIn: string | undefined): Promise<Store> {
  const { TIKV_PD: pd } = process.env;
  if (pd !== undefined && pd !== '') {
    return Promise.resolve({ url: `tikv://${pd}`, [Symbol.dispose]: () => undefined });
  }
  if (standIn === undefined) throw new Error('the stand-in for TiKV has not been built');
  return startStandIn(standIn);
}
