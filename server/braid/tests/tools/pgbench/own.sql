\set n :factor * (:client_id + 1)
\set other random(1, 10)
\if :n > 3
INSERT INTO own VALUES (:n, :other);
\else
INSERT INTO own VALUES (:n, 0) \; SELECT 1;
\endif
SELECT count(*) AS rows FROM own WHERE n = :n \gset
\set more :rows + 1
