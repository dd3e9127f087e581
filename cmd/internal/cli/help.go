package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/mitchellh/go-wordwrap"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/sendlimit/sendlimiter/config"
)

// widthElsewhere is the width of help that is not printed on a terminal.
const widthElsewhere = 80

// narrowest is the least width of wrapped text.
const narrowest = 20

// widthOf returns the width of a terminal, otherwise widthElsewhere.
func widthOf(w io.Writer) int {
	if file, ok := w.(interface{ Fd() uintptr }); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return widthElsewhere
}

// printHelp prints a command's text and usage at a width.
func printHelp(c *cobra.Command, width int) {
	text := c.Long
	if text == "" {
		text = c.Short
	}
	c.Printf("%s\n\n%s", reflow(text, width), c.UsageString())
}

// reflow wraps paragraphs at a width. Indented lines stay as they are.
func reflow(text string, width int) string {
	var lines []string
	paragraph := ""
	end := func() {
		if paragraph != "" {
			lines = append(lines, wrap(paragraph, width))
		}
		paragraph = ""
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			end()
			lines = append(lines, line)
			continue
		}
		paragraph = strings.TrimSpace(paragraph + " " + line)
	}
	end()
	return strings.Join(lines, "\n")
}

func wrap(text string, width int) string {
	return wordwrap.WrapString(text, uint(max(width, narrowest)))
}

// usageFunc returns cobra's usage with the flags in groups, wrapped at a width.
func usageFunc(width int) func(*cobra.Command) error {
	return func(c *cobra.Command) error {
		var text strings.Builder
		writeUsage(&text, c, width)
		writeFlags(&text, c, width)
		if c.HasAvailableSubCommands() {
			fmt.Fprintf(&text, "\nUse \"%s [command] --help\" for more about a command.\n", c.CommandPath())
		}
		if _, err := io.WriteString(c.OutOrStderr(), text.String()); err != nil {
			return fmt.Errorf("printing the usage: %w", err)
		}
		return nil
	}
}

// writeUsage writes how to call a command, examples and its subcommands.
func writeUsage(text *strings.Builder, c *cobra.Command, width int) {
	text.WriteString("Usage:\n")
	if c.Runnable() {
		fmt.Fprintf(text, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(text, "  %s [command]\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(text, "\nExamples:\n%s\n", c.Example)
	}
	if !c.HasAvailableSubCommands() {
		return
	}
	text.WriteString("\nAvailable Commands:\n")
	for _, under := range c.Commands() {
		if under.IsAvailableCommand() {
			name := fmt.Sprintf("  %-*s ", under.NamePadding(), under.Name())
			short := wrap(under.Short, width-len(name))
			text.WriteString(name + strings.ReplaceAll(short, "\n", "\n"+strings.Repeat(" ", len(name))) + "\n")
		}
	}
}

// writeFlags writes the flags without a group, then each group, then the inherited flags
// without a group.
func writeFlags(text *strings.Builder, c *cobra.Command, width int) {
	section := func(title, group string, sets ...*pflag.FlagSet) {
		flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
		for _, set := range sets {
			set.VisitAll(func(f *pflag.Flag) {
				if groupOf(f) == group {
					flags.AddFlag(f)
				}
			})
		}
		if flags.HasAvailableFlags() {
			fmt.Fprintf(text, "\n%s:\n%s", title, flags.FlagUsagesWrapped(width))
		}
	}
	section("Flags", "", c.LocalFlags())
	for _, group := range config.Groups() {
		section(group, group, c.LocalFlags(), c.InheritedFlags())
	}
	section("Global Flags", "", c.InheritedFlags())
}

// groupOf returns the heading of a flag, "" for none.
func groupOf(f *pflag.Flag) string {
	if group := f.Annotations[config.GroupAnnotation]; len(group) > 0 {
		return group[0]
	}
	return ""
}
