// Command river is a side of the comparison: the queue River on Postgres, and beside its jobs a table of
// sends, which a function judges under a lock in the transaction that inserts the job.
package main

import (
	"os"
	"runtime/debug"
	"strings"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

func main() { os.Exit(side.Main(new(product))) }

// versions returns the modules that this side stands on.
func versions() string {
	build, _ := debug.ReadBuildInfo()
	var all []string
	for _, module := range build.Deps {
		switch module.Path {
		case "github.com/riverqueue/river", "github.com/jackc/pgx/v5":
			all = append(all, strings.TrimPrefix(module.Path, "github.com/")+" "+module.Version)
		}
	}
	return strings.Join(all, ", ")
}
