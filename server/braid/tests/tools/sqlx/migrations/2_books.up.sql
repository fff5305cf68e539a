CREATE TABLE books (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  author_id int NOT NULL REFERENCES authors ON DELETE CASCADE,
  title varchar(100) NOT NULL,
  pages int CHECK (pages >= 0),
  UNIQUE (author_id, title)
);
