package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Execute runs a command line. What cobra finds wrong with it, a command that
// is missing included, is returned as a *UsageError with where to find help,
// or as a *sendlimit.InvalidError of a flag's value; what a command returns is returned as it is. Nothing is printed but help
// that was asked for.
func Execute(ctx context.Context, root *cobra.Command, args []string) error {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.InitDefaultHelpCmd()
	run := execution{help: root.HelpFunc()}
	run.watch(root)
	root.SetHelpFunc(run.helpOrUsage)
	root.SetArgs(args)

	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return run.usage
	}
	if run.began {
		return err //nolint:wrapcheck // the command's own
	}
	return usageError(command, err)
}

// execution tells the errors of cobra from those of commands.
type execution struct {
	began bool // a command was run
	usage error
	help  func(*cobra.Command, []string)
}

// watch has every command under c say when it runs.
func (e *execution) watch(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			e.began = true
			return run(c, args)
		}
	}
	if run := c.Run; run != nil {
		c.Run = func(c *cobra.Command, args []string) {
			e.began = true
			run(c, args)
		}
	}
	for _, under := range c.Commands() {
		e.watch(under)
	}
}

// helpOrUsage stands in for cobra's help, which it shows without a word about
// a mistake where a command is missing.
func (e *execution) helpOrUsage(c *cobra.Command, args []string) {
	asked := c.Flags().Lookup("help")
	if e.began || asked != nil && asked.Changed {
		e.help(c, args)
		return
	}
	var names []string
	for _, under := range c.Commands() {
		if under.IsAvailableCommand() {
			names = append(names, under.Name())
		}
	}
	problem := "a command is missing after"
	if rest := c.Flags().Args(); len(rest) > 0 {
		problem = fmt.Sprintf("unknown command %q after", rest[0])
	}
	e.usage = usageError(c, fmt.Errorf("%s %q: one of %s", problem, c.CommandPath(), strings.Join(names, ", ")))
}

func usageError(c *cobra.Command, err error) error {
	if usage, ok := errors.AsType[*UsageError](err); ok {
		return usage
	}
	if invalid := invalidFlag(err); invalid != nil {
		return invalid
	}
	// cobra says it of the flags last, and with no type of its own.
	if missing := missingFlags(c); missing != nil && strings.HasPrefix(err.Error(), "required flag") {
		return missing
	}
	// cobra sets suggestions on lines of their own.
	detail := strings.Replace(err.Error(), "\n\nDid you mean this?\n\t", "; did you mean ", 1)
	detail = strings.Join(strings.Fields(detail), " ")
	return Usage(c, "", detail)
}
