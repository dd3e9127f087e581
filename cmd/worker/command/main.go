package command

import (
	"net/http"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/notifier/service"
)

// Main is the worker's process, and returns its exit status.
func Main() int {
	// Some services of push_url use this client, which would wait for an answer forever.
	http.DefaultClient.Timeout = service.MaxTimeout
	return cli.Main(cli.Worker, Run)
}
