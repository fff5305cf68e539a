/**
 * YCSB's choice of records: a zipfian distribution with constant 0.99 whose popular items are
 * scattered over the key space by a hash, and the keys themselves.
 *
 * Written after the definition: the generator draws from ten billion items, whose zeta sum is a
 * known number, and takes the 64-bit FNV hash of the item modulo the record count.
 */

const ITEMS = 10_000_000_000;
const THETA = 0.99;
/** Sum of 1 / i^0.99 for i from 1 to ten billion. */
const ZETA_ITEMS = 26.46902820178302;
const ZETA_TWO = 1 + 0.5 ** THETA;
const ALPHA = 1 / (1 - THETA);
const ETA = (1 - (2 / ITEMS) ** (1 - THETA)) / (1 - ZETA_TWO / ZETA_ITEMS);

/** A record number below `records`; number 0 of the distribution is drawn most often. */
export function scrambledZipfian(records: number, random: () => number = Math.random): number {
  return Number(fnv64(BigInt(zipfian(random()))) % BigInt(records));
}

/** The key of a record, as YCSB's hashed insert order makes it. */
export function keyOf(record: number): string {
  return `user${fnv64(BigInt(record))}`;
}

/** The item below ten billion that a number from 0 to 1 stands for. */
export function zipfian(u: number): number {
  const uz = u * ZETA_ITEMS;
  if (uz < 1) return 0;
  if (uz < ZETA_TWO) return 1;
  return Math.floor(ITEMS * (ETA * u - ETA + 1) ** ALPHA);
}

const OFFSET_BASIS = 0xcbf29ce484222325n;
const PRIME = 1_099_511_628_211n;

/** The absolute value of the FNV-1 hash as a signed number, octet by octet from the lowest. */
export function fnv64(value: bigint): bigint {
  let rest = value;
  let hash = OFFSET_BASIS;
  for (let octet = 0; octet < 8; octet++) {
    hash = BigInt.asUintN(64, (hash ^ (rest & 0xffn)) * PRIME);
    rest >>= 8n;
  }
  const signed = BigInt.asIntN(64, hash);
  return signed < 0n ? -signed : signed;
}
