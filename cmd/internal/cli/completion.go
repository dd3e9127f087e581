package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/config"
)

// Words makes a shell complete the values of a flag, which has no others.
func Words(flags *pflag.FlagSet, flag string, words ...string) {
	if err := flags.SetAnnotation(flag, config.WordsAnnotation, words); err != nil {
		panic(err) // no such flag: a bug in this program
	}
}

// complete registers the completion of all flags and arguments under c. A shell completes
// files only where a file is expected.
func complete(c *cobra.Command) {
	if c.ValidArgsFunction == nil && !strings.Contains(c.Use, "FILE") {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	register := func(f *pflag.Flag) {
		if _, known := c.GetFlagCompletionFunc(f.Name); known {
			return
		}
		if err := c.RegisterFlagCompletionFunc(f.Name, completionOf(f)); err != nil {
			panic(err) // no such flag: a bug in this program
		}
	}
	c.PersistentFlags().VisitAll(register)
	c.LocalNonPersistentFlags().VisitAll(register)
	for _, under := range c.Commands() {
		complete(under)
	}
}

// completionOf returns the completion of a flag's value.
func completionOf(f *pflag.Flag) cobra.CompletionFunc {
	if words := f.Annotations[config.WordsAnnotation]; len(words) > 0 {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	switch kind, _ := pflag.UnquoteUsage(f); kind {
	case "file":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case "folder":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	default:
		return cobra.NoFileCompletions
	}
}
