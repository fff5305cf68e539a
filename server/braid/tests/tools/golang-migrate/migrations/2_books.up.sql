CREATE TABLE books (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  author_id int NOT NULL REFERENCES authors ON DELETE CASCADE,
  title varchar(100) NOT NULL,
  UNIQUE (author_id, title)
);
CREATE UNIQUE INDEX authors_email ON authors (lower(email));
INSERT INTO authors (email) VALUES ('ann@example.org');
