/**
 * Random numbers, names and texts as TPC-C's specification wants them (revision 5.11, section 2.1
 * and 4.3.2), from a seed: the same seed gives the same rows and the same questions.
 */

/** The parts of a customer's last name. */
const SYLLABLES = ['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'];

/** How many last names there are. */
export const NAMES = 1_000;

/** The constants C of the function NURand, by its A; names have another one while loading. */
const C = { 255: 223, 1023: 259, 8191: 7_911 } as const;
const C_LAST_WHILE_LOADING = 157;

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
/** Characters of which every text is a part: to choose each one by chance takes too long. */
const POOL_CHARACTERS = 65_536;

/** A source of random values. */
export class Random {
  #state: number;
  readonly #pool: string;

  constructor(seed: number) {
    this.#state = seed;
    const pool = Array.from({ length: POOL_CHARACTERS }, () => LETTERS[this.whole(0, 61)]);
    this.#pool = pool.join('');
  }

  /** A number from 0 to 1, without 1 (the generator "mulberry32"). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.fraction() * (to - from + 1));
  }

  /** True in this many of 100 cases. */
  percent(cases: number): boolean {
    return this.fraction() * 100 < cases;
  }

  /** A number of which some come more often: the specification's NURand. */
  nonUniform(a: keyof typeof C, from: number, to: number, c: number = C[a]): number {
    const mixed = this.whole(0, a) | this.whole(from, to);
    return ((mixed + c) % (to - from + 1)) + from;
  }

  /** The last name of a customer that is loaded after the first `NAMES`. */
  loadedName(): string {
    return lastName(this.nonUniform(255, 0, NAMES - 1, C_LAST_WHILE_LOADING));
  }

  /** A last name to look for, where a district has this many customers. */
  name(customers: number): string {
    return lastName(this.nonUniform(255, 0, Math.min(customers, NAMES) - 1));
  }

  /** Letters and digits. */
  text(least: number, most: number): string {
    const length = this.whole(least, most);
    const start = this.whole(0, POOL_CHARACTERS - length);
    return this.#pool.slice(start, start + length);
  }

  /** Digits only. */
  digits(length: number): string {
    return String(this.whole(0, 10 ** length - 1)).padStart(length, '0');
  }

  /** A number with decimals, as text: 2 decimals of 150 to 4,999 give 1.50 to 49.99. */
  decimal(from: number, to: number, decimals: number): string {
    return (this.whole(from, to) / 10 ** decimals).toFixed(decimals);
  }

  /** The numbers from 1, in any order. */
  shuffled(count: number): number[] {
    const numbers = Array.from({ length: count }, (_, place) => place + 1);
    for (let last = count - 1; last > 0; last--) {
      const other = this.whole(0, last);
      [numbers[last], numbers[other]] = [numbers[other] ?? 0, numbers[last] ?? 0];
    }
    return numbers;
  }
}

/** The name of a number below `NAMES`: a syllable for each of its three digits. */
export function lastName(number: number): string {
  const digits = [Math.floor(number / 100), Math.floor(number / 10) % 10, number % 10];
  return digits.map((digit) => SYLLABLES[digit] ?? '').join('');
}
