package command

import (
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/message"
)

// again returns the command line with another --at: the next free time, else the previous one, ""
// if there is neither. It leaves out a --shift-until before that time, which would be invalid.
func again(cmd *cobra.Command, args []string, o message.Outcome, expires, shiftUntil time.Time) string {
	at := o.NextFreeAt.Time
	if at.IsZero() || !expires.IsZero() && !at.Before(expires) {
		at = o.PreviousFreeAt.Time
	}
	if at.IsZero() {
		return ""
	}
	words := strings.Fields(cmd.CommandPath())
	for _, arg := range args {
		words = append(words, shellescape.Quote(arg))
	}
	cmd.Flags().SortFlags = false // Visit uses the order of the command line
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == "shift-until" && shiftUntil.Before(at) || f.Name == "follow-zone" { // the time is an instant
			return
		}
		for _, value := range given(f, at) {
			words = append(words, "--"+f.Name)
			if value != "true" || f.Value.Type() != "bool" {
				words = append(words, shellescape.Quote(value))
			}
		}
	})
	return strings.Join(words, " ")
}

// given returns the values of a flag for display, without passwords.
func given(f *pflag.Flag, at time.Time) []string {
	if many, ok := f.Value.(pflag.SliceValue); ok {
		return many.GetSlice()
	}
	switch f.Name {
	case "at":
		return []string{at.Format(time.RFC3339Nano)}
	case "redis-url":
		return []string{config.RedactRedisURL(f.Value.String())}
	default:
		return []string{f.Value.String()}
	}
}
