CREATE TABLE books (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  author_id int NOT NULL REFERENCES authors ON DELETE CASCADE,
  title varchar(100) NOT NULL,
  UNIQUE (author_id, title)
);
INSERT INTO authors (email) VALUES ('ann@example.org; not the end');
COPY books (author_id, title) FROM STDIN;
1	one
1	two
\.
