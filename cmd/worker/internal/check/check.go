package check

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// checkTimeout bounds the check of one server.
const checkTimeout = 15 * time.Second

// checked is the result for one server.
type checked struct {
	Name   string `json:"name"`   // "store", "email", "push", or that of a channel
	Target string `json:"target"` // without secrets
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	// Milliseconds is how long it took.
	Milliseconds int64 `json:"milliseconds"`

	status int // exit status if it is not OK
}

// Command returns "sendlimit-worker check".
func Command(p cli.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check", Short: "Try the settings: Redis, the mail server, the push target and the channels.",
		Long: "Try the settings: connect to Redis, the mail server and the push target as\n" +
			"the worker does, ask the provider of each channel whether it accepts the\n" +
			"credentials, and print each result and how long it took. Nothing is sent or\n" +
			"changed: the command only logs in to the mail server and connects to the push\n" +
			"target.\n\n" +
			"The exit status is 5 if the store can't be used, 1 if something else fails, and\n" +
			"2 if a setting is rejected.",
		Example: "  sendlimit-worker check --config sendlimit.yaml\n  sendlimit-worker check --config sendlimit.yaml --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return check(cmd.Context(), p, cmd.Flags(), asJSON)
		},
	}
	config.RegisterFlags(cmd.Flags(), config.Worker)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object a line")
	return cmd
}

func check(ctx context.Context, p cli.Program, flags *pflag.FlagSet, asJSON bool) (err error) {
	settings, err := p.Load(flags, config.KnowsAll, config.NeedsPushTarget, store.ValidURL, channels.ValidPush, channels.ValidNotices, channels.ValidDevices)
	if err != nil {
		return err
	}
	opened, err := channels.OpenDevices(ctx, settings, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, channels.CloseAll(opened)) }()
	looks := append(looksAt(settings, opened), looksAtFiles(settings, fileLimit())...)
	found := make([]checked, len(looks))
	var all sync.WaitGroup
	for i, l := range looks {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, checkTimeout)
			defer cancel()
			began := time.Now()
			detail, err := l.try(ctx)
			if away, is := errors.AsType[*fault.UnavailableError](err); is {
				detail = away.Detail
			} else if err != nil {
				detail = err.Error()
			}
			found[i] = checked{Name: l.name, Target: l.target, OK: err == nil, Detail: detail, Milliseconds: time.Since(began).Milliseconds(), status: l.status}
		})
	}
	all.Wait()
	if err := printChecked(p, found, asJSON); err != nil {
		return err
	}
	status := cli.StatusDone
	for _, c := range found {
		if !c.OK {
			status = max(status, c.status)
		}
	}
	if status != cli.StatusDone {
		return cli.StatusError(status)
	}
	return nil
}

func printChecked(p cli.Program, found []checked, asJSON bool) error {
	palette := p.Palette()
	widest := 0
	for _, c := range found {
		widest = max(widest, len(c.Name))
	}
	for _, c := range found {
		if asJSON {
			if err := p.PrintJSON(c); err != nil {
				return err
			}
			continue
		}
		word := "ok   "
		if !c.OK {
			word = palette.Red("fails")
		}
		if err := p.Print(fmt.Sprintf("%s %-*s %s: %s (%d ms)\n", word, widest, c.Name, strings.TrimSuffix(c.Target, ":"), c.Detail, c.Milliseconds)); err != nil {
			return err
		}
	}
	return nil
}
