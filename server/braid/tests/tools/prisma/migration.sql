-- The schema of schema.prisma. Prisma's own migrations need an engine that its registry lacks.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'very happy');
CREATE DOMAIN amount AS numeric(10, 2) CHECK (VALUE >= 0);
CREATE TABLE authors (
  id serial NOT NULL,
  uid uuid NOT NULL DEFAULT gen_random_uuid(),
  email varchar(100) NOT NULL,
  mood mood NOT NULL DEFAULT 'ok',
  meta jsonb,
  tags text[],
  scores integer[],
  born date,
  created timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  changed timestamp(3),
  CONSTRAINT authors_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX authors_uid_key ON authors (uid);
CREATE UNIQUE INDEX authors_email_key ON authors (email);
CREATE TABLE profiles (
  author_id integer NOT NULL,
  text text NOT NULL,
  photo bytea,
  CONSTRAINT profiles_pkey PRIMARY KEY (author_id)
);
CREATE TABLE books (
  id bigserial NOT NULL,
  title text NOT NULL,
  price amount NOT NULL DEFAULT 0,
  weight double precision,
  sold boolean NOT NULL DEFAULT false,
  author_id integer NOT NULL,
  words tsvector,
  during daterange,
  CONSTRAINT books_pkey PRIMARY KEY (id),
  CONSTRAINT books_title CHECK (length(title) > 0),
  CONSTRAINT books_during EXCLUDE USING gist (during WITH &&)
);
CREATE UNIQUE INDEX books_author_id_title_key ON books (author_id, title);
CREATE INDEX books_price_idx ON books (price DESC);
CREATE INDEX books_words_idx ON books USING gin (words);
CREATE TABLE shelves (
  id text NOT NULL,
  name text NOT NULL,
  parent text,
  CONSTRAINT shelves_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX shelves_name_key ON shelves (name);
CREATE TABLE "_BookToShelf" (
  "A" bigint NOT NULL,
  "B" text NOT NULL,
  CONSTRAINT "_BookToShelf_AB_pkey" PRIMARY KEY ("A", "B")
);
CREATE INDEX "_BookToShelf_B_index" ON "_BookToShelf" ("B");
CREATE TABLE sales (day date NOT NULL, id integer NOT NULL, amount integer NOT NULL,
  CONSTRAINT sales_pkey PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
CREATE TABLE sales_2026 PARTITION OF sales FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE TABLE sales_rest PARTITION OF sales DEFAULT;
ALTER TABLE profiles ADD CONSTRAINT profiles_author_id_fkey FOREIGN KEY (author_id)
  REFERENCES authors (id) ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE books ADD CONSTRAINT books_author_id_fkey FOREIGN KEY (author_id)
  REFERENCES authors (id) ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE shelves ADD CONSTRAINT shelves_parent_fkey FOREIGN KEY (parent)
  REFERENCES shelves (id) ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE "_BookToShelf" ADD CONSTRAINT "_BookToShelf_A_fkey" FOREIGN KEY ("A")
  REFERENCES books (id) ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "_BookToShelf" ADD CONSTRAINT "_BookToShelf_B_fkey" FOREIGN KEY ("B")
  REFERENCES shelves (id) ON DELETE CASCADE ON UPDATE CASCADE;
CREATE VIEW author_totals AS
  SELECT a.id AS author_id, a.email, count(b.id) AS books, coalesce(sum(b.price), 0) AS total
  FROM authors a LEFT JOIN books b ON b.author_id = a.id GROUP BY a.id, a.email;
CREATE FUNCTION books_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.words := to_tsvector('english', NEW.title);
  RETURN NEW;
END
$$;
CREATE TRIGGER books_words BEFORE INSERT OR UPDATE OF title ON books
  FOR EACH ROW EXECUTE FUNCTION books_words();
ALTER TABLE profiles ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON profiles USING (text <> 'hidden');
