// Command river is a side of the comparison: the queue River on Postgres, and beside its jobs a table of
// sends, which a function judges under a lock in the transaction that inserts the job.
package main

import (
	"os"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

func main() { os.Exit(side.Main(new(product))) }
