package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Usage returns what is wrong with a command line, and where to find help; field
// is the flag or argument at fault, "" for none.
func Usage(c *cobra.Command, field, detail string) *UsageError {
	return &UsageError{Field: field, Detail: fmt.Sprintf("%s; see %s --help", detail, c.CommandPath())}
}

// Argument makes cobra insist on one argument, which it names: "ID".
func Argument(name string) cobra.PositionalArgs {
	field := strings.ToLower(name)
	return func(c *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return Usage(c, field, name+" is missing")
		case 1:
			return nil
		default:
			return Usage(c, field, fmt.Sprintf("%q is too much: one %s is expected", args[1], name))
		}
	}
}

// NoArguments makes cobra insist on flags alone.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usage(c, "", fmt.Sprintf("%q is too much: %s takes flags only", args[0], c.Name()))
}

// missingFlags says which of the flags that a command can't do without were not
// given; nil where none is missing.
func missingFlags(c *cobra.Command) error {
	var missing []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, required := f.Annotations[cobra.BashCompOneRequiredFlag]; required && !f.Changed {
			missing = append(missing, f.Name)
		}
	})
	if len(missing) == 0 {
		return nil
	}
	verb := " is missing"
	if len(missing) > 1 {
		verb = " are missing"
	}
	return Usage(c, missing[0], "--"+strings.Join(missing, " and --")+verb)
}

// invalidFlag says what a flag takes that was given something else; nil where an
// error is another one.
func invalidFlag(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return nil
	}
	flag := wrong.GetFlag()
	want := "what its help says"
	switch flag.Value.Type() {
	case "bool":
		want = "true or false"
	case "int", "int64":
		want = "a whole number"
	}
	return &fault.InvalidError{Field: flag.Name, Value: wrong.GetValue(), Want: want}
}
