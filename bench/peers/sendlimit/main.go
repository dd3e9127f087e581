// Command sendlimit is two sides of the comparison: this project as a library in the caller's programs,
// and as a worker with its HTTP API and a webhook. Its argument says which: library or api. The second
// needs the path of the built sendlimit-worker as another argument.
package main

import (
	"fmt"
	"os"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

func main() {
	args := os.Args[1:]
	switch {
	case len(args) == 1 && args[0] == "library":
		os.Exit(side.Main(new(library)))
	case len(args) == 2 && args[0] == "api":
		os.Exit(side.Main(&overHTTP{program: args[1]}))
	default:
		fmt.Fprintln(os.Stderr, "usage: sendlimit library, or sendlimit api PATH-OF-SENDLIMIT-WORKER")
		os.Exit(2)
	}
}
