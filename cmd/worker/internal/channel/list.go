package channel

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	states "github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// listed is a channel as list shows it.
type listed struct {
	Channel string `json:"channel"`
	// SetUp reports whether the settings given to this command have the channel.
	SetUp  bool          `json:"set_up"`
	State  string        `json:"state"` // running or stopped
	Reason string        `json:"reason,omitempty"`
	Detail string        `json:"detail,omitempty"`
	Since  *message.Time `json:"since,omitempty"`
	// ProbeAt is when workers probe it again; absent if they do not.
	ProbeAt *message.Time `json:"probe_at,omitempty"`
	// Proved reports whether it has delivered with the present credentials.
	Proved bool `json:"proved"`
	// Wave says how many devices its provider called gone a moment ago; absent if few.
	Wave *wave `json:"wave,omitempty"`
}

// wave is how many of the last answers called a device gone, and whose messages they were.
type wave struct {
	Gone      int            `json:"gone"`
	Of        int            `json:"of"`
	Accounts  map[string]int `json:"accounts"`
	Campaigns map[string]int `json:"campaigns"`
}

// String says so for a person.
func (w wave) String() string {
	return fmt.Sprintf("\n         its provider calls many devices gone, which are kept as suspects: %d of the last %d answers,\n"+
		"         by account %s, by campaign %s", w.Gone, w.Of, counts(w.Accounts), counts(w.Campaigns))
}

// counts lists names by how often they come, most first.
func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], strings.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", cmp.Or(name, "(none)"), of[name])
	}
	return strings.Join(names, ", ")
}

const (
	running = "running"
	stopped = "stopped"
)

// String describes the channel for a person.
func (l listed) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%-8s %s", l.Channel, l.State)
	if l.State == stopped {
		fmt.Fprintf(&s, " since %s: %s", cli.FormatTime(l.Since.Time, time.UTC), l.Reason)
		if l.Detail != "" {
			s.WriteString(", " + l.Detail)
		}
		switch {
		case l.Reason == string(states.Brake):
			fmt.Fprintf(&s, "\n         its provider calls all devices gone: check project, key and environment,"+
				" then worker channel resume %s", l.Channel)
		case l.ProbeAt != nil:
			fmt.Fprintf(&s, "\n         it is probed again at %s", cli.FormatTime(l.ProbeAt.Time, time.UTC))
		}
	} else if !l.Proved {
		s.WriteString(", has not delivered yet")
	}
	if l.Wave != nil {
		s.WriteString(l.Wave.String())
	}
	if !l.SetUp {
		s.WriteString("\n         not in the settings of this command")
	}
	s.WriteByte('\n')
	return s.String()
}

func (c *commands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the channels, and which are stopped.",
		Long: "List the channels of the settings and of the store: which run, which are stopped,\n" +
			"since when and why, and which have delivered with the present credentials.",
		Example: "  worker channel list --config sendlimit.yaml\n  worker channel list --json",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.Report(c.asJSON, c.withStates(cmd, c.list))
		},
	}
}

func (c *commands) list(ctx context.Context, kept *states.Store, settings config.Config) error {
	all, err := kept.Load(ctx)
	if err != nil {
		return fmt.Errorf("looking at the channels: %w", err)
	}
	identities, err := channels.Identities(ctx, settings, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	names := make([]string, 0, len(identities)+len(all))
	for name := range identities {
		names = append(names, name)
	}
	for _, s := range all {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		at := slices.IndexFunc(all, func(s states.State) bool { return s.Name == name })
		state := states.State{Name: name}
		if at >= 0 {
			state = all[at]
		}
		identity, setUp := identities[name]
		if err := c.printListed(listing(state, identity, setUp, time.Now())); err != nil {
			return err
		}
	}
	return nil
}

func listing(s states.State, identity string, setUp bool, now time.Time) listed {
	l := listed{Channel: s.Name, SetUp: setUp, State: running, Proved: s.Proved(identity)}
	if !setUp {
		l.Proved = s.HasDelivered()
	}
	if s.Wave != nil && now.Sub(s.Wave.At) < states.WaveLasts {
		l.Wave = &wave{Gone: s.Wave.Gone, Of: s.Wave.Of, Accounts: s.Wave.Accounts, Campaigns: s.Wave.Campaigns}
	}
	if s.Stopped {
		l.State, l.Reason, l.Detail = stopped, string(s.Reason), s.Detail
		l.Since = &message.Time{Time: s.Since}
		if !s.ProbeAt.IsZero() {
			l.ProbeAt = &message.Time{Time: s.ProbeAt}
		}
	}
	return l
}

func (c *commands) printListed(l listed) error {
	if c.asJSON {
		return c.PrintJSON(l)
	}
	return c.PrintHint(l.String())
}

func (c *commands) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resume CHANNEL",
		Short: "Resume a channel that is stopped.",
		Long: "Resume a channel that is stopped: all workers deliver through it again within two\n" +
			"seconds. It need not be: workers resume it when a probe passes. After all devices\n" +
			"were called gone, check project, key and environment first, with worker channel\n" +
			"check and send-test.",
		Example: "  worker channel resume apns --config sendlimit.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.Report(c.asJSON, c.withStates(cmd, func(ctx context.Context, kept *states.Store, _ config.Config) error {
				return c.resume(ctx, kept, args[0])
			}))
		},
	}
}

func (c *commands) resume(ctx context.Context, kept *states.Store, name string) error {
	was, err := kept.Resume(ctx, name)
	if err != nil {
		return fmt.Errorf("resuming a channel: %w", err)
	}
	if !was {
		return fault.Wrong("channel", "%q is not stopped: see worker channel list", name)
	}
	if c.asJSON {
		return c.PrintJSON(map[string]string{"channel": name, "state": running})
	}
	return c.Print(name + " is resumed: its messages go out as the rules allow\n")
}

// withStates calls do with the states of the channels in the store that the settings name.
func (c *commands) withStates(cmd *cobra.Command, do func(context.Context, *states.Store, config.Config) error) error {
	return store.With(cmd.Context(), c.Program, cmd.Flags(), func(client redis.UniversalClient, settings config.Config) error {
		kept, err := states.NewStore(client, settings.Prefix)
		if err != nil {
			return fmt.Errorf("opening the channels: %w", err)
		}
		return do(cmd.Context(), kept, settings)
	})
}
