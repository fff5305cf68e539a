package main

import (
	"github.com/jackc/pgx/v5/pgconn"

	. "braiddb.dev/tools"
)

// Prints one result of a pipeline.
func sayResult(result any) {
	switch result := result.(type) {
	case *pgconn.StatementDescription:
		Say("prepared", result.Name, result.ParamOIDs)
	case *pgconn.ResultReader:
		read := result.Read()
		for _, row := range read.Rows {
			Say("row", string(row[0]))
		}
		if read.Err != nil {
			Fails(read.Err)
		} else {
			Say(read.CommandTag.String())
		}
	case *pgconn.PipelineSync:
		Say("synchronized")
	}
}
