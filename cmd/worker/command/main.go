package command

import (
	"net/http"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/notifier/service"
)

// Main is the worker's process, and returns its exit status.
func Main() int {
	// Some services of push_url use this client, which would wait for an answer forever.
	http.DefaultClient.Timeout = service.MaxTimeout
	// Near the memory limit of the container or unit, Go collects garbage instead of being killed.
	// Without a limit, or a way to read it, Go's own default holds.
	_, _ = memlimit.Set()
	return cli.Main(cli.Worker, Run)
}
