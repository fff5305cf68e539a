// Package tools is what the Go programs share: where the database is, and how a step prints its
// results.
//
// A program is a list of steps. A step prints `== name`, then its lines. A step that fails prints
// the error and the program goes on, so that one run shows everything that differs.
package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"
)

// URL is the database of this run; each program has an empty one of its own.
var URL = os.Getenv("DATABASE_URL")

// Say prints one line: texts as they are, everything else as JSON.
func Say(values ...any) {
	texts := make([]string, len(values))
	for i, value := range values {
		if text, ok := value.(string); ok {
			texts[i] = text
		} else {
			texts[i] = asJSON(value)
		}
	}
	fmt.Println(strings.Join(texts, " "))
}

// Rows prints each row as a line of JSON.
func Rows[T any](rows []T) {
	for _, row := range rows {
		Say(asJSON(row))
	}
	Say(fmt.Sprintf("(%d rows)", len(rows)))
}

// Sorted prints the rows in the order of their texts, for lists that come without ORDER BY.
func Sorted[T any](rows []T) {
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = asJSON(row)
	}
	sort.Strings(lines)
	for _, line := range lines {
		Say(line)
	}
	Say(fmt.Sprintf("(%d rows)", len(rows)))
}

// Step runs one step. An error becomes a line of the output.
func Step(name string, run func() error) {
	Say("==", name)
	if err := run(); err != nil {
		Say("error", describe(err))
	}
}

// Fails expects an error, and prints it.
func Fails(err error) {
	if err == nil {
		Say("no error, although one was expected")
		return
	}
	Say("fails with", describe(err))
}

// Must ends the program: for what has to work before the first step.
func Must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// How lib/pq ends its text of an error: the SQLSTATE.
var state = regexp.MustCompile(`\s+\([0-9A-Z]{5}\)$`)

func describe(err error) string {
	var fromPgx *pgconn.PgError
	if errors.As(err, &fromPgx) {
		return line(fromPgx.Code, fromPgx.Message, fromPgx.ConstraintName)
	}
	var fromPq *pq.Error
	if errors.As(err, &fromPq) {
		return line(string(fromPq.Code), fromPq.Message, fromPq.Constraint)
	}
	return state.ReplaceAllString(strings.ReplaceAll(err.Error(), "\n", " / "), "")
}

func line(code, message, constraint string) string {
	if constraint != "" {
		constraint = " [" + constraint + "]"
	}
	return code + " " + message + constraint
}
