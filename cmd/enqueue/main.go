package main

import (
	"os"
	_ "time/tzdata" // so that the zones of calendar rules exist on every machine

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

func main() { os.Exit(cli.Main(run)) }
