/**
 * The five transactions and how often each is chosen: the specification's least shares (section
 * 5.2.3), and New-Order for the rest.
 */

import { chooseDelivery, chooseStockLevel, delivery, stockLevel } from './delivery.js';
import { chooseNewOrder, newOrder } from './new-order.js';
import { chooseCustomer, choosePayment, orderStatus, payment } from './payment.js';
import type { Random } from './random.js';
import type { Session } from './session.js';
import type { Size } from './tables.js';
import { DISTRICTS } from './tables.js';

/** The names of the transactions. */
export const KINDS = ['new order', 'payment', 'order status', 'delivery', 'stock level'] as const;

/** A transaction's name. */
export type Kind = (typeof KINDS)[number];

/** How often of 100 each is chosen. */
export const SHARES: Readonly<Record<Kind, number>> = {
  'new order': 45,
  payment: 43,
  'order status': 4,
  delivery: 4,
  'stock level': 4,
};

/** A transaction with its input: it can run again. False: it was rolled back, as it has to be. */
export interface Chosen {
  readonly kind: Kind;
  readonly run: (session: Session) => Promise<boolean>;
}

/** Chooses a transaction's input. */
export function choose(kind: Kind, random: Random, size: Size): Chosen {
  switch (kind) {
    case 'new order': {
      const input = chooseNewOrder(random, size);
      return { kind, run: (session) => newOrder(session, input) };
    }
    case 'payment': {
      const input = choosePayment(random, size);
      return { kind, run: (session) => payment(session, input) };
    }
    case 'order status': {
      const [warehouse, district] = [random.whole(1, size.warehouses), random.whole(1, DISTRICTS)];
      const input = chooseCustomer(warehouse, district, random, size);
      return { kind, run: (session) => orderStatus(session, input) };
    }
    case 'delivery': {
      const input = chooseDelivery(random, size);
      return { kind, run: (session) => delivery(session, input) };
    }
    case 'stock level': {
      const input = chooseStockLevel(random, size);
      return { kind, run: (session) => stockLevel(session, input) };
    }
  }
}

/** Chooses a transaction by its share. */
export function chooseKind(random: Random): Kind {
  let place = random.whole(1, 100);
  for (const kind of KINDS) {
    place -= SHARES[kind];
    if (place <= 0) return kind;
  }
  throw new Error('the shares are not 100 in all');
}
