CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE authors (
  id serial PRIMARY KEY,
  uid uuid NOT NULL DEFAULT gen_random_uuid(),
  email text NOT NULL,
  feels mood NOT NULL DEFAULT 'ok',
  meta jsonb NOT NULL DEFAULT '{}',
  tags text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now()
);
