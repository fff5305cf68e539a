CREATE OR REPLACE VIEW titles AS SELECT title, email FROM books JOIN authors ON authors.id = author_id;
