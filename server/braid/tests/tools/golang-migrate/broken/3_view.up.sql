BEGIN;
ALTER TABLE books ADD COLUMN price numeric(10, 2) CHECK (price >= 0);
CREATE VIEW titles AS SELECT title, email FROM books JOIN authors ON authors.id = author_id;
COMMIT;
