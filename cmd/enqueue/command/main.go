package command

import (
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// Main is the process of sendlimit, and returns its exit status.
func Main() int { return cli.Main(cli.Submitter, run) }
