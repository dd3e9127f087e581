package main

import (
	"net/http"
	"os"
	_ "time/tzdata" // so that the zones of calendar rules exist on every machine

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/notifier/service"
)

func main() {
	// Some services of push_url use this client, and it would wait for an answer for ever.
	http.DefaultClient.Timeout = service.MaxTimeout
	os.Exit(cli.Main(run))
}
