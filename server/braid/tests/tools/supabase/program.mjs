// A schema as Supabase projects have it: roles of the API, a function for the user in the token,
// policies on every table, and a request as PostgREST makes it.
import pg from 'pg';

import { rows, say, step, url } from '../support.mjs';

const client = new pg.Client({ connectionString: url });
await client.connect();

const ANN = '00000000-0000-4000-8000-00000000000a';
const BOB = '00000000-0000-4000-8000-00000000000b';

/** Runs a request as PostgREST does: role and claims are set for one transaction. */
async function request(role, claims, work) {
  await client.query('BEGIN');
  try {
    await client.query(
      `SELECT set_config('role', $1, true), set_config('request.jwt.claims', $2, true)`,
      [role, JSON.stringify(claims)],
    );
    const result = await work();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK');
    say('refused', error.code, error.message);
    return undefined;
  }
}

const ann = { sub: ANN, role: 'authenticated' };
const bob = { sub: BOB, role: 'authenticated' };
const query = async (text, values) => rows((await client.query(text, values)).rows);

await step('roles', async () => {
  for (const role of ['anon', 'authenticated']) {
    await client.query(`
      DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN
          CREATE ROLE ${role} NOLOGIN NOINHERIT;
        END IF;
      END $$`);
  }
  await client.query(`
    DO $$ BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'service_role') THEN
        CREATE ROLE service_role NOLOGIN NOINHERIT BYPASSRLS;
      END IF;
    END $$`);
  await client.query('GRANT USAGE ON SCHEMA public TO anon, authenticated, service_role');
  await client.query(`
    ALTER DEFAULT PRIVILEGES IN SCHEMA public
      GRANT ALL ON TABLES TO anon, authenticated, service_role`);
  await client.query(`
    ALTER DEFAULT PRIVILEGES IN SCHEMA public
      GRANT ALL ON SEQUENCES TO anon, authenticated, service_role`);
  await query(`SELECT rolname, rolbypassrls FROM pg_roles
    WHERE rolname IN ('anon', 'authenticated', 'service_role') ORDER BY 1`);
});

await step('schema', async () => {
  await client.query(`
    CREATE SCHEMA auth;
    GRANT USAGE ON SCHEMA auth TO anon, authenticated, service_role;
    CREATE TABLE auth.users (id uuid PRIMARY KEY, email text UNIQUE);
    CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS $$
      SELECT (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid
    $$;
    CREATE FUNCTION auth.role() RETURNS text LANGUAGE sql STABLE AS $$
      SELECT nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'
    $$;
    CREATE TABLE profiles (
      id uuid PRIMARY KEY REFERENCES auth.users ON DELETE CASCADE,
      username text UNIQUE,
      is_public boolean NOT NULL DEFAULT false
    );
    CREATE TABLE teams (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL);
    CREATE TABLE members (
      team_id bigint REFERENCES teams ON DELETE CASCADE,
      user_id uuid REFERENCES auth.users ON DELETE CASCADE,
      role text NOT NULL DEFAULT 'member',
      PRIMARY KEY (team_id, user_id)
    );
    CREATE TABLE todos (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      team_id bigint NOT NULL REFERENCES teams ON DELETE CASCADE,
      author uuid NOT NULL DEFAULT auth.uid(),
      task text NOT NULL CHECK (length(task) > 1),
      is_done boolean NOT NULL DEFAULT false
    );
    CREATE INDEX todos_team ON todos (team_id);
  `);
  await client.query(`
    CREATE FUNCTION public.handle_new_user() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
    BEGIN
      INSERT INTO public.profiles (id, username) VALUES (new.id, split_part(new.email, '@', 1));
      RETURN new;
    END $$;
    CREATE TRIGGER on_auth_user_created AFTER INSERT ON auth.users
      FOR EACH ROW EXECUTE FUNCTION public.handle_new_user();
    CREATE FUNCTION public.teams_of_user() RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
      SELECT team_id FROM public.members WHERE user_id = auth.uid()
    $$;
  `);
});

await step('policies', async () => {
  await client.query(`
    ALTER TABLE profiles ENABLE ROW LEVEL SECURITY;
    ALTER TABLE teams ENABLE ROW LEVEL SECURITY;
    ALTER TABLE members ENABLE ROW LEVEL SECURITY;
    ALTER TABLE todos ENABLE ROW LEVEL SECURITY;
    CREATE POLICY "Public profiles are viewable by everyone." ON profiles
      FOR SELECT USING (is_public);
    CREATE POLICY "Users can see and change their own profile." ON profiles
      TO authenticated USING ((SELECT auth.uid()) = id) WITH CHECK ((SELECT auth.uid()) = id);
    CREATE POLICY "Members see their teams." ON teams
      FOR SELECT TO authenticated USING (id IN (SELECT teams_of_user()));
    CREATE POLICY "Members see each other." ON members
      FOR SELECT TO authenticated USING (team_id IN (SELECT teams_of_user()));
    CREATE POLICY "Admins add members." ON members FOR INSERT TO authenticated
      WITH CHECK (EXISTS (
        SELECT FROM members m
        WHERE m.team_id = members.team_id AND m.user_id = auth.uid() AND m.role = 'admin'
      ));
    CREATE POLICY "Members see todos." ON todos
      FOR SELECT USING (team_id IN (SELECT teams_of_user()));
    CREATE POLICY "Members add todos." ON todos FOR INSERT
      WITH CHECK (auth.uid() = author AND team_id IN (SELECT teams_of_user()));
    CREATE POLICY "Authors change todos." ON todos FOR UPDATE USING (auth.uid() = author);
    CREATE POLICY "Authors delete todos." ON todos FOR DELETE USING (auth.uid() = author);
    CREATE POLICY "Only with a token." ON todos AS RESTRICTIVE TO anon, authenticated
      USING (auth.role() = 'authenticated');
  `);
  await query(`SELECT tablename, policyname, permissive, roles, cmd, qual, with_check
    FROM pg_policies WHERE schemaname = 'public' ORDER BY tablename, policyname`);
});

await step('rows of the owner', async () => {
  await client.query('INSERT INTO auth.users VALUES ($1, $2), ($3, $4)', [
    ANN,
    'ann@example.com',
    BOB,
    'bob@example.com',
  ]);
  await client.query(`INSERT INTO teams (name) VALUES ('one'), ('two')`);
  await client.query(
    `INSERT INTO members VALUES (1, $1, 'admin'), (1, $2, 'member'), (2, $2, 'admin')`,
    [ANN, BOB],
  );
  await query('SELECT username, is_public FROM profiles ORDER BY 1');
});

await step('requests', async () => {
  await request('authenticated', ann, () =>
    query('INSERT INTO todos (team_id, task) VALUES (1, $1), (1, $2) RETURNING id, task', [
      'write',
      'read',
    ]),
  );
  await request('authenticated', ann, () =>
    query('INSERT INTO todos (team_id, task) VALUES (2, $1)', ['not mine']),
  );
  await request('authenticated', ann, () =>
    query('INSERT INTO todos (team_id, author, task) VALUES (1, $1, $2)', [BOB, 'not me']),
  );
  await request('authenticated', bob, () =>
    query('INSERT INTO todos (team_id, task) VALUES (2, $1) RETURNING id', ['sleep']),
  );
  for (const [role, claims] of [
    ['authenticated', ann],
    ['authenticated', bob],
    ['anon', {}],
    ['service_role', { role: 'service_role' }],
  ]) {
    say(role, claims.sub ?? '-');
    await request(role, claims, async () => {
      await query('SELECT id, team_id, task FROM todos ORDER BY id');
      await query('SELECT name FROM teams ORDER BY id');
      await query('SELECT username FROM profiles ORDER BY 1');
      await query(`SELECT t.name, count(d.id) AS todos FROM teams t
        LEFT JOIN todos d ON d.team_id = t.id GROUP BY t.id, t.name ORDER BY t.id`);
    });
  }
});

await step('changes', async () => {
  await request('authenticated', bob, () => query(`UPDATE todos SET is_done = true RETURNING id`));
  await request('authenticated', ann, () =>
    query(`UPDATE todos SET is_done = true WHERE id = 1 RETURNING id, is_done`),
  );
  await request('authenticated', ann, () =>
    query(`UPDATE todos SET author = $1 WHERE id = 1`, [BOB]),
  );
  await request('authenticated', bob, () =>
    query(`INSERT INTO members (team_id, user_id) VALUES (1, $1)`, [BOB]),
  );
  await request('authenticated', ann, () =>
    query(`UPDATE profiles SET is_public = true, username = 'annie' RETURNING username`),
  );
  await request('anon', {}, () => query('SELECT username FROM profiles'));
  await request('anon', {}, () => query(`DELETE FROM todos RETURNING id`));
  await request('authenticated', ann, () =>
    query(`WITH gone AS (DELETE FROM todos RETURNING id) SELECT id FROM gone ORDER BY id`),
  );
  await request('authenticated', bob, () =>
    query(
      `INSERT INTO profiles (id, username) VALUES ($1, 'annie')
      ON CONFLICT (id) DO UPDATE SET username = excluded.username`,
      [ANN],
    ),
  );
  await query('SELECT id, author = $1 AS of_bob, is_done FROM todos ORDER BY id', [BOB]);
});

await step('cleanup', async () => {
  await client.query('DELETE FROM auth.users');
  await query('SELECT (SELECT count(*) FROM profiles) AS profiles, (SELECT count(*) FROM members)');
  await client.query(
    'DROP SCHEMA auth CASCADE; DROP TABLE todos, members, teams, profiles CASCADE',
  );
  await client.query(`
    DROP FUNCTION teams_of_user, handle_new_user;
    DROP OWNED BY anon, authenticated, service_role;
    DROP ROLE anon, authenticated, service_role`);
});

await client.end();
