import { setImmediate } from 'node:timers';

/** Lanes: work that runs side by side, a few at a time, and work that runs beside nothing else. */
export class Lanes {
  #count;
  #running = 0;
  #isAlone = false;
  /** Work that waits for a lane, and work that waits until nothing else waits or runs. */
  #shared = [];
  #alone = [];
  #tellAlone;
  /** Resolves when the first work begins that runs beside nothing else. */
  alone = new Promise((resolve) => {
    this.#tellAlone = resolve;
  });

  /** @param {number} count how many run at a time */
  constructor(count) {
    this.#count = count;
  }

  /** Runs work when a lane is free, in the order of the calls; resolves to its result. */
  run(work) {
    return this.#add(this.#shared, work);
  }

  /** Runs work in the next free lane, before what waits. */
  runNext(work) {
    return this.#add(this.#shared, work, true);
  }

  /** Runs work after all other, beside nothing else. */
  runAlone(work) {
    return this.#add(this.#alone, work);
  }

  #add(queue, work, isNext = false) {
    return new Promise((resolve, reject) => {
      const job = () => Promise.resolve().then(work).then(resolve, reject);
      if (isNext) queue.unshift(job);
      else queue.push(job);
      // Later: more work of the same moment may stand in front of what runs alone.
      setImmediate(() => this.#start());
    });
  }

  #start() {
    while (!this.#isAlone && this.#running < this.#count && this.#shared.length > 0) {
      this.#launch(this.#shared.shift());
    }
    if (this.#running === 0 && this.#alone.length > 0) {
      this.#isAlone = true;
      this.#tellAlone();
      this.#launch(this.#alone.shift());
    }
  }

  #launch(job) {
    this.#running += 1;
    void job().then(() => {
      this.#running -= 1;
      this.#isAlone = false;
      this.#start();
    });
  }
}
