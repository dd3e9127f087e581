package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Usage returns an error about a command line that names its help; field is the flag or
// argument at fault, "" for none.
func Usage(c *cobra.Command, field, detail string) *UsageError {
	return &UsageError{Field: field, Detail: fmt.Sprintf("%s; see %s --help", detail, c.CommandPath())}
}

// Argument requires exactly one argument, with a name such as "ID".
func Argument(name string) cobra.PositionalArgs {
	field := strings.ToLower(name)
	return func(c *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return Usage(c, field, name+" is missing")
		case 1:
			return nil
		default:
			return Usage(c, field, fmt.Sprintf("unexpected argument %q: give one %s", args[1], name))
		}
	}
}

// NoArguments accepts no arguments. The error is a usage error.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usage(c, "", fmt.Sprintf("unexpected argument %q: %s has only flags", args[0], c.Name()))
}

// takeArguments sets the arguments of the commands under c from their Use: one if a name in
// capitals follows, as in "show USER", else none. Commands with a check of their own keep it.
func takeArguments(c *cobra.Command) {
	for _, under := range c.Commands() {
		takeArguments(under)
		words := append(strings.Fields(under.Use), "", "")
		switch name := words[1]; {
		case under.Args != nil || under.HasSubCommands() && !under.Runnable():
		case name != "" && name == strings.ToUpper(name) && !strings.HasPrefix(name, "["):
			under.Args = Argument(name)
		default:
			under.Args = NoArguments
		}
	}
}

// missingFlags returns an error that names the missing required flags, nil if none is missing.
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

// invalidFlag returns an error that says what a flag accepts, nil if err is not about an
// invalid value.
func invalidFlag(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return nil
	}
	flag := wrong.GetFlag()
	want := "a value as its help describes"
	switch flag.Value.Type() {
	case "bool":
		want = "true or false"
	case "int", "int64":
		want = "a whole number"
	}
	return &fault.InvalidError{Field: flag.Name, Value: wrong.GetValue(), Want: want}
}
