-- Rows by formulas, so that every server holds the same.
SET search_path = rental;
BEGIN;
INSERT INTO languages VALUES (1, 'English'), (2, 'Deutsch'), (3, '日本語');
INSERT INTO categories (name) SELECT
  unnest('{Action,Comedy,Drama,Family,Horror,Music,Travel}'::text[]);
INSERT INTO countries VALUES ('AT', 'Austria'), ('CH', 'Switzerland'), ('JP', 'Japan');
INSERT INTO cities (country, name, place)
  VALUES ('AT', 'Graz', '(15.4,47.1)'), ('CH', 'Basel', '(7.6,47.6)'), ('JP', 'Nara', NULL), ('AT',
  'Wien', NULL);
INSERT INTO addresses (line, city_id, phone)
  SELECT n || ' Main Street', 1 + n % 4, '+43 ' || n * 1111 FROM generate_series(1, 40) AS n;
INSERT INTO stores (address_id, manager_id) VALUES (1, 1), (2, 3), (3, NULL);
INSERT INTO staff (name, store_id, address, secret)
  SELECT ROW(('{Ann,Bob,Cid,Dee,Eve}'::text[])[n], 'Of ' || n)::full_name, 1 + (n - 1) % 3, 's' ||
  n || '@rental.example',
    decode(md5(n::text), 'hex') FROM generate_series(1, 5) AS n;
INSERT INTO shifts SELECT n, tstzrange(t, t + interval '8 hours') FROM generate_series(1, 5) AS n,
  generate_series('2026-01-05 08:00+00'::timestamptz, '2026-01-09 08:00+00', '1 day') AS t;
INSERT INTO films (title, story, made, language_id, days, rate, minutes, replacement, rated,
  extras, details)
  SELECT
    ('{Silent,Golden,Lost,Running,Frozen,Last,Broken}'::text[])[1 + n % 7] || ' '
      || ('{River,Train,Garden,Teacher,Winter}'::text[])[1 + n % 5] || ' ' || n,
    'A ' || ('{painter,sailor,doctor}'::text[])[1 + n % 3] || ' who is looking for '
      || ('{friends,gold,the truth,a dog}'::text[])[1 + n % 4] || ' meets a robot',
    1950 + n % 70, 1 + n % 3, 3 + n % 5, (n % 5) + 0.99, 60 + n * 7 % 121, 10 + n % 20 + 0.99,
    ('{all,guided,teens,adults}'::rating[])[1 + n % 4],
    CASE n % 3 WHEN 0 THEN '{trailer}'::text[] WHEN 1 THEN '{trailer,"deleted scenes"}' ELSE '{}'
    END,
    jsonb_build_object('colour', n % 9 <> 0, 'prizes', jsonb_build_array(n % 2, n % 3), 'studio',
    'S' || n % 6)
  FROM generate_series(1, 120) AS n;
INSERT INTO actors (name) SELECT ROW(('{Ina,Jim,Kay,Leo}'::text[])[1 + n % 4], 'Actor' ||
  n)::full_name FROM generate_series(1, 40) AS n;
INSERT INTO film_actors (film_id, actor_id, role)
  SELECT f, 1 + (f * 7 + n * 11) % 40, CASE WHEN n = 0 THEN 'lead' END
  FROM generate_series(1, 120) AS f, generate_series(0, 2) AS n;
INSERT INTO film_categories SELECT f, 1 + (f + n * 3) % 7 FROM generate_series(1, 120) AS f,
  generate_series(0, f % 2) AS n;
INSERT INTO copies (film_id, store_id, code)
  SELECT 1 + n % 120, 1 + n % 3, md5('copy' || n)::uuid FROM generate_series(1, 400) AS n;
INSERT INTO customers (name, address, home_id, store_id, since, network, active)
  SELECT ROW(('{Mia,Noa,Oli}'::text[])[1 + n % 3], 'Customer' || n)::full_name, 'C' || n ||
  '@mail.example',
    CASE WHEN n % 10 > 0 THEN 4 + n % 36 END, 1 + n % 3, '2025-01-01'::date + n,
    ('10.0.' || n || '.0/24')::inet, n % 8 <> 0
  FROM generate_series(1, 60) AS n;
INSERT INTO rentals (copy_id, customer_id, staff_id, stay)
  SELECT 1 + n % 400, 100 + n * 13 % 60, 1 + n % 5,
    tstzrange(t, CASE WHEN n % 17 > 0 OR n < 500 THEN t + make_interval(days => 1 + n % 12) END)
  FROM generate_series(1, 900) AS n, LATERAL (SELECT '2025-12-20 10:00+00'::timestamptz + n *
  interval '2 hours 50 minutes') AS at (t);
INSERT INTO payments (rental_id, customer_id, paid, amount)
  SELECT r.id, r.customer_id, lower(r.stay)::date, f.rate FROM rentals r JOIN copies c ON c.id =
  r.copy_id
    JOIN films f ON f.id = c.film_id WHERE r.id % 6 <> 0 ORDER BY r.id;
INSERT INTO reviews SELECT 1 + n % 120, 100 + n * 7 % 60, 1 + n % 5, 'review ' || n FROM
  generate_series(1, 200) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO events SELECT 1 + n % 4, '2026-01-01 00:00+00'::timestamptz + n * interval '1 hour',
  'kind ' || n % 5
  FROM generate_series(1, 100) AS n;
INSERT INTO settings VALUES ('currency', '"EUR"'), ('hours',
  '{"open": [9, 18], "closed": ["sun"]}');
INSERT INTO visits SELECT 1 + n % 3, ('0' || n || ':30+02')::timetz FROM generate_series(0, 9) AS n;
COMMIT;
UPDATE films SET rate = rate + 1 WHERE id % 10 = 0;
REFRESH MATERIALIZED VIEW sales_by_category;
SELECT setval('payment_numbers', max(id)) FROM payments;
