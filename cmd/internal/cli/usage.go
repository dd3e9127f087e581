package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Execute runs a command line. If the command line is invalid, or lacks a command, the
// error is a *UsageError that names the help, or a *fault.InvalidError for a flag's value.
// Other errors are those of the command, unchanged. Execute prints only requested help.
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

// execution distinguishes errors of cobra from those of commands.
type execution struct {
	began bool // a command was run
	usage error
	help  func(*cobra.Command, []string)
}

// watch makes every command under c set began when it runs.
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

// helpOrUsage replaces cobra's help. If a command is missing, cobra would show help and
// name no mistake.
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
	// cobra checks for required flags last, and its error has no type.
	if missing := missingFlags(c); missing != nil && strings.HasPrefix(err.Error(), "required flag") {
		return missing
	}
	// cobra writes suggestions on separate lines.
	detail := strings.Replace(err.Error(), "\n\nDid you mean this?\n\t", "; did you mean ", 1)
	detail = strings.Join(strings.Fields(detail), " ")
	return Usage(c, "", detail)
}
