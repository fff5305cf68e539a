-- What must be the same after every restore.
SET search_path = rental;
SELECT id, title, language, rate, rated, actors, categories FROM film_list WHERE id IN (1, 10, 77)
  ORDER BY id;
SELECT * FROM customer_list ORDER BY id LIMIT 12;
SELECT * FROM sales_by_category ORDER BY total DESC, category;
SELECT title, round(ts_rank(words, q)::numeric, 4) AS rank FROM films,
  websearch_to_tsquery('english', 'gold "silent river" or teachers -dog') AS q
  WHERE words @@ q ORDER BY rank DESC, id LIMIT 8;
SELECT ts_headline('english', story, to_tsquery('english', 'looks & robot')) FROM films ORDER BY id
  LIMIT 3;
SELECT id, title, details -> 'prizes' AS prizes FROM films WHERE details @>
  '{"colour": false, "studio": "S0"}' ORDER BY id;
SELECT jsonb_path_query_array(details, '$.prizes[*] ? (@ > 1)') AS prizes, count(*) FROM films
  GROUP BY 1 ORDER BY 1;
SELECT extras, count(*), array_agg(id ORDER BY id) FILTER (WHERE id < 10) FROM films GROUP BY
  extras ORDER BY extras;
SELECT rated, count(*), round(avg(minutes), 2) AS minutes, percentile_cont(0.5) WITHIN GROUP (ORDER
  BY rate) AS middle
  FROM films GROUP BY GROUPING SETS ((rated), ()) ORDER BY rated NULLS LAST;
SELECT tableoid::regclass AS part, count(*), sum(amount), min(paid), max(paid) FROM payments GROUP
  BY tableoid ORDER BY tableoid::regclass::text;
SELECT tableoid::regclass AS part, count(*), min(at) FROM events WHERE tableoid =
  'events_first'::regclass GROUP BY 1;
SELECT date_trunc('week', paid)::date AS week, sum(sum(amount)) OVER (ORDER BY date_trunc('week',
  paid)) AS running
  FROM payments GROUP BY 1, date_trunc('week', paid) ORDER BY 1 LIMIT 6;
SELECT store_id, (name).family, rank() OVER (PARTITION BY store_id ORDER BY count(*) DESC, c.id) AS
  place, count(*)
  FROM customers c JOIN rentals r ON r.customer_id = c.id GROUP BY c.id ORDER BY store_id, place,
  c.id LIMIT 9;
WITH RECURSIVE linked (actor, hops) AS (
  SELECT 1, 0
  UNION
  SELECT b.actor_id, hops + 1 FROM linked JOIN film_actors a ON a.actor_id = actor
    JOIN film_actors b ON b.film_id = a.film_id WHERE hops < 3
)
SELECT hops, count(*) FROM (SELECT actor, min(hops) AS hops FROM linked GROUP BY actor) AS nearest
  GROUP BY hops ORDER BY hops;
SELECT c.id, balance(c.id, '2026-04-30 00:00+00') FROM customers c ORDER BY 2 DESC, 1 LIMIT 6;
SELECT * FROM good_customers(10, 30) ORDER BY paid DESC, customer LIMIT 5;
SELECT * FROM good_customers(0, 30);
SELECT in_stock(1), count(*) AS here FROM copies_in_stock(5, 3);
SELECT last_day('2024-02-10'), last_day(NULL);
SELECT staff_id, count(*), range_agg(during) @> '2026-01-06 09:00+00'::timestamptz AS works FROM
  shifts GROUP BY 1 ORDER BY 1;
SELECT count(*) FILTER (WHERE upper_inf(stay)) AS open, count(*) AS rentals, max(upper(stay)) FROM
  rentals;
SELECT (name).given, count(*), string_agg(address, ';' ORDER BY address) FILTER (WHERE network <<=
  '10.0.8.0/21') FROM customers GROUP BY 1 ORDER BY 1;
SELECT s.id, (m.name).family, encode(m.secret, 'hex'), place <-> '(7.6,47.1)' AS far FROM stores s
  LEFT JOIN staff m ON m.id = s.manager_id
  JOIN addresses a ON a.id = s.address_id JOIN cities t ON t.id = a.city_id ORDER BY s.id;
SELECT film_id, old, new FROM rates ORDER BY number LIMIT 4;
SELECT name, value #>> '{open,0}' AS opens FROM settings ORDER BY name;
SELECT stars, count(*) FROM reviews GROUP BY stars ORDER BY stars;
SELECT * FROM visits ORDER BY hour, store_id LIMIT 3;
SELECT f.title, x.name FROM films f CROSS JOIN LATERAL (SELECT (a.name).family AS name FROM
  film_actors fa JOIN actors a ON a.id = fa.actor_id
  WHERE fa.film_id = f.id ORDER BY 1 DESC LIMIT 1) AS x WHERE lower(f.title) LIKE 'frozen%' ORDER
  BY f.id LIMIT 5;
\set VERBOSITY terse
-- Constraints, triggers and procedures work after a restore; nothing of this stays. The errors
-- are without the numbers of failing rows.
SELECT min(id) AS first FROM open_rentals \gset
BEGIN;
CALL give_back(:first, '2026-05-01 00:00+00');
UPDATE film_names SET title = 'new name' WHERE id = 3;
SELECT title, changed, words FROM films WHERE id = 3;
INSERT INTO payments (customer_id, paid, amount) VALUES (100, '2026-03-31', 1) RETURNING id > 1000
  AS numbered, tableoid::regclass;
UPDATE payments SET paid = '2030-01-01' WHERE paid = '2026-03-31' AND rental_id IS NULL;
SELECT tableoid::regclass FROM payments WHERE paid = '2030-01-01';
SAVEPOINT s;
INSERT INTO rentals (copy_id, customer_id, staff_id, stay) VALUES (1, 100, 1,
  '[2025-12-20 13:00+00,)');
ROLLBACK TO s;
INSERT INTO open_rentals (copy_id, customer_id, staff_id, stay) VALUES (1, 100, 1,
  '[2030-01-01,2030-01-02)');
ROLLBACK TO s;
INSERT INTO films (title, language_id, made) VALUES ('x', 1, 1700);
ROLLBACK TO s;
INSERT INTO customers (name, address, store_id, since) VALUES (('a', 'b'), 'c1@MAIL.example', 1,
  '2026-01-01');
ROLLBACK TO s;
DELETE FROM countries WHERE code = 'AT';
ROLLBACK TO s;
CALL give_back(1, '2026-05-01');
ROLLBACK;
INSERT INTO films (title, language_id) VALUES ('after the restore', 1) RETURNING id > 120 AS
  numbered;
DELETE FROM films WHERE title = 'after the restore';
