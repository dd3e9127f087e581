package check

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	// askedWithin bounds the request: a worker checks its store for two seconds at most.
	askedWithin = 5 * time.Second
	maxAnswer   = 1 << 20
	readyPath   = "/readyz"
)

// answered is the answer of /readyz.
type answered struct {
	Status string `json:"status"`
	Checks []struct {
		Check  string `json:"check"`
		Status string `json:"status"`
		Detail string `json:"detail,omitempty"`
	} `json:"checks"`
}

// HealthCommand returns "sendlimit-worker health".
func HealthCommand(p cli.Program) *cobra.Command {
	var target string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "health", Short: "Ask a running worker whether it is ready.",
		Long: "Ask the worker with these settings whether it is ready, at its address of health,\n" +
			"and print its answer. This is the health check of a container: the image has no\n" +
			"other program for it.\n\n" +
			"The exit status is 0 if the worker is ready, and 5 if it is not or does not\n" +
			"answer.",
		Example: "  sendlimit-worker health\n  sendlimit-worker health --admin-listen :9090\n  sendlimit-worker health --url http://127.0.0.1:9090/livez",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd.Context(), p, cmd.Flags(), target, asJSON)
		},
	}
	cmd.Flags().AddFlagSet(cli.SettingFlags("listen", "admin-listen", "tls-cert", config.FileFlag))
	cmd.Flags().StringVar(&target, "url", "", "another `URL`, such as that of /livez")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer unchanged")
	return cmd
}

func ask(ctx context.Context, p cli.Program, flags *pflag.FlagSet, target string, asJSON bool) error {
	settings, err := p.Load(flags)
	if err != nil {
		return err
	}
	secured := (*tls.Config)(nil)
	if target == "" {
		if target, secured, err = addressOf(settings); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askedWithin)
	defer cancel()
	status, body, err := get(ctx, target, secured)
	if err != nil {
		return &fault.UnavailableError{Detail: fmt.Sprintf("no worker answers at %s: %v", target, err)}
	}
	if err := show(p, body, asJSON); err != nil {
		return err
	}
	if status != http.StatusOK {
		return cli.StatusError(cli.StatusUnavailable)
	}
	return nil
}

// addressOf returns the URL of /readyz of a worker with these settings, and how to check its
// certificate; nil if it has none.
func addressOf(c config.Config) (string, *tls.Config, error) {
	address, certificate := c.AdminListen, ""
	if address == "" {
		address, certificate = c.Listen, c.TLSCert
	}
	if address == "" {
		return "", nil, fault.Wrong("listen", "listen and admin_listen are off: set admin_listen, or give --url")
	}
	base, secured, err := operations.WorkerAt(address, certificate)
	return base + readyPath, secured, err
}

func get(ctx context.Context, target string, secured *tls.Config) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("User-Agent", cli.UserAgent())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: secured, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // the caller names the URL
		}
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return response.StatusCode, body, err
}

// show prints an answer: a line for its status, and one for each check that is not ok.
func show(p cli.Program, body []byte, asJSON bool) error {
	var answer answered
	if err := json.Unmarshal(body, &answer); asJSON || err != nil {
		return p.Print(strings.TrimSpace(string(body)) + "\n")
	}
	var text strings.Builder
	fmt.Fprintln(&text, answer.Status)
	for _, c := range answer.Checks {
		if c.Status != "ok" {
			fmt.Fprintf(&text, "%s: %s", c.Check, c.Status)
			if c.Detail != "" {
				fmt.Fprintf(&text, ", %s", c.Detail)
			}
			text.WriteByte('\n')
		}
	}
	return p.PrintHint(text.String())
}
