package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/config"
)

// Execute runs a command line, with --version, completion of flags, help in groups at the
// terminal's width, and a hidden command for manual pages. Without arguments, a root that has no
// action prints its help. An invalid command line gives a *UsageError that names the help, or a
// *fault.InvalidError for the value of a flag. Errors of the command stay unchanged. Execute prints
// only requested help.
func Execute(ctx context.Context, names Names, root *cobra.Command, args []string) error {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version, root.DisableAutoGenTag = Version(), true
	root.Flags().Bool("version", false, "print the version") // cobra's own would take -v
	root.AddCommand(manCommand(root), versionCommand())
	takeArguments(root)
	root.InitDefaultHelpCmd()
	names.name(root)
	complete(root)
	run := execution{width: widthOf(root.OutOrStdout()), bare: len(args) == 0}
	run.watch(root)
	root.SetHelpFunc(run.helpOrUsage)
	root.SetUsageFunc(usageFunc(run.width))
	root.SetArgs(args)

	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return run.usage
	}
	if run.began {
		return err //nolint:wrapcheck // the command's own
	}
	return run.usageError(command, err)
}

// execution distinguishes errors of cobra from those of commands.
type execution struct {
	bare  bool // the command line is empty
	began bool // a command has run
	usage error
	width int // of help
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

// helpOrUsage replaces cobra's help. If a command is missing, cobra would show help and name no
// mistake.
func (e *execution) helpOrUsage(c *cobra.Command, _ []string) {
	asked := c.Flags().Lookup("help")
	if e.bare || e.began || asked != nil && asked.Changed {
		printHelp(c, e.width)
		return
	}
	problem := "missing command after"
	if rest := c.Flags().Args(); len(rest) > 0 {
		problem = fmt.Sprintf("unknown command %q after", rest[0])
	}
	e.usage = e.usageError(c, fmt.Errorf("%s %q: one of %s", problem, c.CommandPath(), strings.Join(commandNames(c), ", ")))
}

func (e *execution) usageError(c *cobra.Command, err error) error {
	if usage, ok := errors.AsType[*UsageError](err); ok {
		return usage
	}
	if invalid := invalidFlag(err); invalid != nil {
		return invalid
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		detail := err.Error()
		if nearest := config.Nearest(unknown.GetSpecifiedName(), flagNames(c)); nearest != "" {
			detail += fmt.Sprintf(" (did you mean --%s?)", nearest)
		}
		return Usage(c, "", detail)
	}
	// cobra checks for required flags last, and its error has no type.
	if missing := missingFlags(c); missing != nil && strings.HasPrefix(err.Error(), "required flag") {
		return missing
	}
	// cobra writes suggestions on separate lines.
	detail, nearest, suggests := strings.Cut(err.Error(), "\n\nDid you mean this?\n\t")
	if unknown := unknownCommand.FindStringSubmatch(detail); unknown != nil && c == c.Root() {
		if other := elsewhere(c.Name(), unknown[1]); other != "" {
			return &UsageError{Detail: fmt.Sprintf("%s: the command is %s", detail, other)}
		}
	}
	if suggests {
		detail += fmt.Sprintf(" (did you mean %s?)", strings.Join(strings.Fields(nearest), " or "))
	}
	return Usage(c, "", detail)
}

// unknownCommand matches cobra's error, which has no type.
var unknownCommand = regexp.MustCompile(`^unknown command "([^"]+)" `)

// commandNames returns the names of the subcommands that the help shows.
func commandNames(c *cobra.Command) []string {
	var names []string
	for _, under := range c.Commands() {
		if under.IsAvailableCommand() {
			names = append(names, under.Name())
		}
	}
	return names
}

func flagNames(c *cobra.Command) []string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
