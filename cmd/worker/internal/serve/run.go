package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// dropFlag and movedFlag are not settings, since they are for one start after a restore or a move.
const (
	dropFlag  = "drop-due-before"
	movedFlag = "store-moved"
)

// startOptions are the options of one start.
type startOptions struct {
	dropDueBefore time.Time // drops messages due before; zero drops none
	storeMoved    bool
}

// takesOver reports whether the worker delivers even if the store was last delivered under another
// address.
func (o startOptions) takesOver() bool { return o.storeMoved || !o.dropDueBefore.IsZero() }

// given returns the name of a flag that makes sense only for a worker that delivers; "" if none is
// given.
func (o startOptions) given() string {
	switch {
	case !o.dropDueBefore.IsZero():
		return dropFlag
	case o.storeMoved:
		return movedFlag
	default:
		return ""
	}
}

// Command returns "sendlimit-worker run", which does the same as no command.
func Command(p cli.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use: "run", Short: "Deliver messages: the same as without a command.",
		Long: "Deliver scheduled messages at their time, until a SIGTERM. This is the same as\n" +
			"sendlimit-worker without a command, and has the same flags.\n\n" +
			"After a restore from a backup, the store has messages as scheduled that were sent\n" +
			"after the backup. --drop-due-before drops messages that were due before a time\n" +
			"instead of sending them twice. A dropped message keeps its place and its id, since\n" +
			"it may have been sent, and becomes a dead letter with the reason restored. Give\n" +
			"the flag to every worker until the next ordinary start.\n\n" +
			"The store remembers the address under which it was last delivered. A worker that\n" +
			"uses another address does not deliver: the store may be a copy, whose\n" +
			"original is delivered too. If the store has moved, or its address has a new name,\n" +
			"start one worker with --store-moved, then the others as usual. --drop-due-before\n" +
			"takes the store over too.",
		Example: "  sendlimit-worker run --drop-due-before 2026-11-22T11:11:11Z\n" +
			"  sendlimit-worker run --drop-due-before now      # drops all messages due while it was down\n" +
			"  sendlimit-worker run --drop-due-before -2h\n" +
			"  sendlimit-worker run --redis-url redis://new.example.com:6379 --store-moved",
	}
	Setup(p, cmd)
	return cmd
}

// Setup makes a command run the worker. It leaves the arguments to cobra, which names the nearest
// command.
func Setup(p cli.Program, cmd *cobra.Command) {
	var before string
	var o startOptions
	config.RegisterFlags(cmd.Flags(), config.Worker)
	cmd.Flags().StringVar(&before, dropFlag, "", "drop messages due before this `time` instead of sending them,"+
		" after a restore from a backup: RFC 3339, now, or -2h")
	cmd.Flags().BoolVar(&o.storeMoved, movedFlag, false, "deliver although the store was last delivered under another address:"+
		" it has moved, and no worker delivers at the old one")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if before == "" && cmd.Flags().Changed(dropFlag) {
			return &fault.InvalidError{Field: dropFlag, Value: before, Want: timeOfDrop}
		}
		var err error
		if o.dropDueBefore, err = pastTime(before, time.Now()); err != nil {
			return err
		}
		ctx := cmd.Context()
		if err := serve(ctx, p, cmd.Flags(), o); ctx.Err() == nil || !errors.Is(err, context.Canceled) {
			return err
		}
		return nil // a stop before the first delivery is no failure
	}
}

// timeOfDrop names the values of dropFlag.
const timeOfDrop = "an RFC 3339 time such as 2026-11-22T11:11:11Z, now, or a time before now such as -2h"

// pastTime reads the time of dropFlag. "" is the zero time. The error is a
// *fault.InvalidError.
func pastTime(text string, now time.Time) (time.Time, error) {
	invalid := func(want string) error {
		return &fault.InvalidError{Field: dropFlag, Value: text, Want: want}
	}
	if text == "" {
		return time.Time{}, nil
	}
	if ago, relative := strings.CutPrefix(text, "-"); relative {
		d, err := calendar.ParseDuration(ago)
		if err != nil || d < 0 || strings.HasPrefix(ago, "+") {
			return time.Time{}, invalid("a duration after the -, such as -90s, -90m, -36h or -7d")
		}
		return now.Add(-d).UTC().Truncate(time.Millisecond), nil
	}
	when, err := cli.ParseTime(dropFlag, text, "", now)
	switch {
	case err != nil:
		return time.Time{}, invalid(timeOfDrop)
	case when.Now:
		return now.UTC().Truncate(time.Millisecond), nil
	case when.At.After(now):
		return time.Time{}, invalid("a time in the past: later messages were not sent before the restore")
	}
	return when.At, nil
}

// warnOfDropping logs at the start which messages are not sent. A zero time drops none.
func warnOfDropping(ctx context.Context, before time.Time, logger *slog.Logger) {
	if before.IsZero() {
		return
	}
	logger.WarnContext(ctx, "messages due before this time are dropped instead of sent", "drop_due_before", before)
}
