package main

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm/logger"
)

// A logger of GORM that keeps the statements which change the schema.
type recorder struct{ changes []string }

func (r *recorder) LogMode(logger.LogLevel) logger.Interface { return r }

func (r *recorder) Info(context.Context, string, ...any) {}

func (r *recorder) Warn(context.Context, string, ...any) {}

func (r *recorder) Error(context.Context, string, ...any) {}

func (r *recorder) Trace(_ context.Context, _ time.Time, statement func() (string, int64), _ error) {
	text, _ := statement()
	for _, verb := range []string{"CREATE", "ALTER", "DROP", "COMMENT"} {
		if strings.HasPrefix(text, verb) {
			r.changes = append(r.changes, text)
		}
	}
}
