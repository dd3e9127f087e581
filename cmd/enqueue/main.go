package main

import (
	"os"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/command"
)

func main() { os.Exit(command.Main()) }
