package main

import (
	"os"

	"github.com/sendlimit/sendlimiter/cmd/worker/command"
)

func main() { os.Exit(command.Main()) }
