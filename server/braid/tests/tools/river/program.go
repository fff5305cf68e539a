// River: its migrations, jobs in a transaction, workers, retries, unique jobs, the queue's tables.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sort"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	. "braiddb.dev/tools"
)

// How long the program waits for a worker.
const workWait = 30 * time.Second

var ctx = context.Background()
var pool = Must(pgxpool.New(ctx, URL))
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

type mail struct {
	To string `json:"to" river:"unique"`
}

func (mail) Kind() string { return "mail" }

type flaky struct {
	Name string `json:"name"`
}

func (flaky) Kind() string { return "flaky" }

type mailWorker struct {
	river.WorkerDefaults[mail]
}

func (w *mailWorker) Work(ctx context.Context, job *river.Job[mail]) error {
	return river.RecordOutput(ctx, "sent to "+job.Args.To)
}

type flakyWorker struct {
	river.WorkerDefaults[flaky]
}

func (w *flakyWorker) Work(ctx context.Context, job *river.Job[flaky]) error {
	switch {
	case job.Args.Name == "cancel":
		return river.JobCancel(errors.New("not wanted"))
	case job.Args.Name == "once" && job.Attempt == 1:
		return errors.New("the first attempt fails")
	case job.Args.Name == "never":
		return errors.New("every attempt fails")
	}
	return nil
}

func (w *flakyWorker) NextRetry(*river.Job[flaky]) time.Time { return time.Now() }

func newClient() (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, &mailWorker{})
	river.AddWorker(workers, &flakyWorker{})
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown:     10 * time.Millisecond,
		FetchPollInterval: 50 * time.Millisecond,
		Logger:            quiet,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
		Workers:           workers,
	})
}

func main() {
	defer pool.Close()
	Step("migrations up", func() error { return migrate(rivermigrate.DirectionUp, nil) })
	client := Must(newClient())
	Step("jobs", func() error { return insert(client) })
	Step("a transaction that is rolled back", func() error { return rolledBack(client) })
	Step("many jobs at once", func() error { return many(client) })
	Step("unique jobs", func() error { return unique(client) })
	Step("cancel, delete and list", func() error { return manage(client) })
	Step("workers", func() error { return work(client) })
	Step("states", states)
	Step("queues and notifications", func() error { return queues(client) })
	Step("tables", tables)
	Step("migrations down", func() error {
		return migrate(rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{TargetVersion: -1})
	})
	Step("what is left", tables)
}

func migrate(direction rivermigrate.Direction, options *rivermigrate.MigrateOpts) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return err
	}
	result, err := migrator.Migrate(ctx, direction, options)
	if err != nil {
		return err
	}
	for _, version := range result.Versions {
		Say(string(direction), version.Version, version.Name)
	}
	if direction == rivermigrate.DirectionUp {
		valid, err := migrator.Validate(ctx, nil)
		if err != nil {
			return err
		}
		Say("valid", valid.OK, valid.Messages)
	}
	return nil
}

func show(job *rivertype.JobRow) {
	Say(job.Kind, string(job.EncodedArgs), string(job.State), job.Priority, job.Attempt, job.Tags)
}

func insert(client *river.Client[pgx.Tx]) error {
	first, err := client.Insert(ctx, mail{To: "ann"}, &river.InsertOpts{
		Metadata: []byte(`{"by": "test"}`), Priority: 2, Tags: []string{"one", "two"},
	})
	if err != nil {
		return err
	}
	show(first.Job)
	later, err := client.Insert(ctx, mail{To: "bob"}, &river.InsertOpts{
		ScheduledAt: time.Now().Add(24 * time.Hour),
	})
	if err != nil {
		return err
	}
	show(later.Job)
	_, err = client.Insert(ctx, mail{To: "bad"}, &river.InsertOpts{Priority: 9})
	Fails(err)
	return nil
}

func rolledBack(client *river.Client[pgx.Tx]) error {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := client.InsertTx(ctx, tx, mail{To: "nobody"}, nil); err != nil {
		return err
	}
	if err := tx.Rollback(ctx); err != nil {
		return err
	}
	return count(`SELECT count(*) FROM river_job WHERE args->>'to' = 'nobody'`)
}

func count(sql string) error {
	var n int
	if err := pool.QueryRow(ctx, sql).Scan(&n); err != nil {
		return err
	}
	Say(n)
	return nil
}

func many(client *river.Client[pgx.Tx]) error {
	var jobs []river.InsertManyParams
	for i := range 20 {
		jobs = append(jobs, river.InsertManyParams{Args: mail{To: fmt.Sprintf("reader %d", i)}})
	}
	results, err := client.InsertMany(ctx, jobs)
	if err != nil {
		return err
	}
	fast, err := client.InsertManyFast(ctx, jobs[:5])
	if err != nil {
		return err
	}
	Say(len(results), fast)
	return count(`SELECT count(*) FROM river_job`)
}

func unique(client *river.Client[pgx.Tx]) error {
	options := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
	for range 2 {
		result, err := client.Insert(ctx, mail{To: "only once"}, options)
		if err != nil {
			return err
		}
		Say("skipped", result.UniqueSkippedAsDuplicate)
	}
	return count(`SELECT count(*) FROM river_job WHERE unique_key IS NOT NULL`)
}

func manage(client *river.Client[pgx.Tx]) error {
	var ids []int64
	for _, name := range []string{"x", "y"} {
		result, err := client.Insert(ctx, flaky{Name: name}, &river.InsertOpts{
			ScheduledAt: time.Now().Add(time.Hour),
		})
		if err != nil {
			return err
		}
		ids = append(ids, result.Job.ID)
	}
	cancelled, err := client.JobCancel(ctx, ids[0])
	if err != nil {
		return err
	}
	show(cancelled)
	deleted, err := client.JobDelete(ctx, ids[1])
	if err != nil {
		return err
	}
	show(deleted)
	_, err = client.JobGet(ctx, ids[1])
	Fails(err)
	page, err := client.JobList(ctx, river.NewJobListParams().Kinds("mail").First(3))
	if err != nil {
		return err
	}
	for _, job := range page.Jobs {
		show(job)
	}
	next := river.NewJobListParams().Kinds("mail").First(2).After(page.LastCursor)
	page, err = client.JobList(ctx, next)
	if err != nil {
		return err
	}
	for _, job := range page.Jobs {
		show(job)
	}
	return nil
}

func work(client *river.Client[pgx.Tx]) error {
	events, stop := client.Subscribe(
		river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled,
	)
	defer stop()
	for _, name := range []string{"cancel", "once", "never"} {
		options := &river.InsertOpts{MaxAttempts: 2}
		if _, err := client.Insert(ctx, flaky{Name: name}, options); err != nil {
			return err
		}
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	// 27 mails are sent; one job is cancelled, one fails once, one fails twice.
	var seen []string
	var lock sync.Mutex
	timeout := time.After(workWait)
	for range 27 + 1 + 2 + 2 {
		select {
		case event := <-events:
			if event.Job.Kind == "flaky" {
				lock.Lock()
				job := event.Job
				line := fmt.Sprintf("%s %s %d", event.Kind, job.EncodedArgs, job.Attempt)
				seen = append(seen, line)
				lock.Unlock()
			}
		case <-timeout:
			return errors.New("the workers took too long")
		}
	}
	if err := client.Stop(ctx); err != nil {
		return err
	}
	sort.Strings(seen)
	for _, line := range seen {
		Say(line)
	}
	return nil
}

func states() error {
	rows, err := pool.Query(ctx, `
		SELECT kind, state::text, count(*), max(attempt), max(cardinality(errors)),
			count(metadata->'output')
		FROM river_job GROUP BY kind, state ORDER BY kind, state`)
	if err != nil {
		return err
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		Say(values)
	}
	return rows.Err()
}

func queues(client *river.Client[pgx.Tx]) error {
	list, err := client.QueueList(ctx, river.NewQueueListParams())
	if err != nil {
		return err
	}
	for _, queue := range list.Queues {
		Say(queue.Name, queue.PausedAt == nil)
	}
	if err := client.QueuePause(ctx, river.QueueDefault, nil); err != nil {
		return err
	}
	queue, err := client.QueueGet(ctx, river.QueueDefault)
	if err != nil {
		return err
	}
	Say(queue.Name, queue.PausedAt == nil)
	return client.QueueResume(ctx, river.QueueDefault, nil)
}

func tables() error {
	rows, err := pool.Query(ctx, `
		SELECT c.relname, c.relkind::text, c.relpersistence::text, count(a.attname)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE n.nspname = 'public' AND c.relname LIKE 'river%'
		GROUP BY 1, 2, 3 ORDER BY 1`)
	if err != nil {
		return err
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		Say(values)
	}
	return rows.Err()
}
