// golang-migrate with both of its drivers: up, down, steps, a dirty version, its lock.
package main

import (
	"database/sql"
	"embed"
	"errors"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/database/postgres"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	_ "github.com/jackc/pgx/v5/stdlib"

	. "braiddb.dev/tools"
)

//go:embed migrations broken
var files embed.FS

var db = Must(sql.Open("pgx", URL))

func main() {
	defer db.Close()
	Step("up by lib/pq", func() error { return up(byPq) })
	Step("down by lib/pq", func() error { return down(byPq) })
	Step("up by pgx", func() error { return up(byPgx) })
	Step("a broken migration", broken)
	Step("the lock", lock)
	Step("down by pgx", func() error { return down(byPgx) })
	Step("drop everything", drop)
}

func byPq() (database.Driver, error) {
	own, err := sql.Open("postgres", URL+"?sslmode=disable")
	if err != nil {
		return nil, err
	}
	return postgres.WithInstance(own, &postgres.Config{})
}

func byPgx() (database.Driver, error) {
	own, err := sql.Open("pgx", URL)
	if err != nil {
		return nil, err
	}
	return pgx.WithInstance(own, &pgx.Config{})
}

// Opens the migrations of a folder, runs `use`, and closes them.
func with(
	folder string, open func() (database.Driver, error), use func(*migrate.Migrate) error,
) error {
	source, err := iofs.New(files, folder)
	if err != nil {
		return err
	}
	target, err := open()
	if err != nil {
		return err
	}
	all, err := migrate.NewWithInstance("iofs", source, "tools", target)
	if err != nil {
		return err
	}
	err = use(all)
	_, closed := all.Close()
	return errors.Join(err, closed)
}

func sayVersion(all *migrate.Migrate) {
	version, dirty, err := all.Version()
	Say(version, dirty, errors.Is(err, migrate.ErrNilVersion))
}

func tables() error {
	rows, err := db.Query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		names = append(names, name)
	}
	Say(names)
	return rows.Err()
}

func up(open func() (database.Driver, error)) error {
	return with("migrations", open, func(all *migrate.Migrate) error {
		sayVersion(all)
		if err := all.Steps(1); err != nil {
			return err
		}
		sayVersion(all)
		if err := all.Up(); err != nil {
			return err
		}
		sayVersion(all)
		Say(errors.Is(all.Up(), migrate.ErrNoChange))
		if err := all.Migrate(1); err != nil {
			return err
		}
		sayVersion(all)
		return errors.Join(all.Up(), tables())
	})
}

func down(open func() (database.Driver, error)) error {
	return with("migrations", open, func(all *migrate.Migrate) error {
		if err := all.Down(); err != nil {
			return err
		}
		sayVersion(all)
		return tables()
	})
}

// A failed migration leaves its version dirty, and nothing goes on until it is forced.
func broken() error {
	return with("broken", byPgx, func(all *migrate.Migrate) error {
		Fails(all.Up())
		sayVersion(all)
		Fails(all.Up())
		if err := all.Force(3); err != nil {
			return err
		}
		sayVersion(all)
		return nil
	})
}

func lock() error {
	first, err := byPgx()
	if err != nil {
		return err
	}
	defer first.Close()
	if err := first.Lock(); err != nil {
		return err
	}
	Fails(first.Lock())
	var others int
	err = db.QueryRow("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted").
		Scan(&others)
	Say(others > 0)
	return errors.Join(err, first.Unlock())
}

func drop() error {
	err := with("migrations", byPgx, func(all *migrate.Migrate) error {
		if err := all.Up(); err != nil {
			return err
		}
		return all.Drop()
	})
	return errors.Join(err, tables())
}
