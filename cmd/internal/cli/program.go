package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/config"
)

// Program is the environment and the streams of a command. Tests pass their own.
type Program struct {
	Name    string // Worker or Submitter
	Names   Names
	Environ []string // as os.Environ returns it
	Stdin   io.Reader
	Stdout  io.Writer // answers
	Stderr  io.Writer // logs, progress and questions
	// Await returns a channel that receives when the next signal after the first arrives, which then
	// does not end the process. A later signal does, unless Await is called again. Nil stands for a
	// program without signals.
	Await func() <-chan struct{}
}

// Getenv returns the value of a variable of the environment, "" if it is not set.
func (p Program) Getenv(name string) string {
	value := ""
	for _, entry := range p.Environ {
		if rest, found := strings.CutPrefix(entry, name+"="); found {
			value = rest
		}
	}
	return value
}

// Palette returns the colours for standard output.
func (p Program) Palette() Palette { return NewPalette(p.Stdout, p.Getenv) }

// Print writes an answer to standard output.
func (p Program) Print(answer string) error {
	if _, err := fmt.Fprint(VisibleTo(p.Stdout), answer); err != nil {
		return fmt.Errorf("printing the answer: %w", err)
	}
	return nil
}

// PrintHint writes a sentence that may name the programs to standard output.
func (p Program) PrintHint(sentence string) error { return p.Print(p.Names.Spell(sentence)) }

// Tell writes a note for a person to standard error.
func (p Program) Tell(format string, args ...any) error {
	return Program{Stdout: p.Stderr}.Print(fmt.Sprintf(p.Names.Spell(format), args...))
}

// PrintJSON writes an answer to standard output as one line of JSON.
func (p Program) PrintJSON(answer any) error {
	encoder := json.NewEncoder(VisibleTo(p.Stdout))
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return fmt.Errorf("printing the answer: %w", err)
	}
	return nil
}

// Report prints an error as JSON if asJSON is set, and returns the error to end with. It prints
// neither an error that is already printed nor a canceled context, since after a signal the signal
// decides about the exit status.
func (p Program) Report(asJSON bool, err error) error {
	if _, printed := errors.AsType[StatusError](err); printed || err == nil || !asJSON || errors.Is(err, context.Canceled) {
		return err
	}
	return ReportJSON(p.Stdout, p.Names, err)
}

// Load reads the settings from the flags, the environment and the settings file.
func (p Program) Load(flags *pflag.FlagSet, checks ...config.Check) (config.Config, error) {
	file, err := flags.GetString(config.FileFlag)
	if err != nil {
		return config.Config{}, fmt.Errorf("reading the flag of the settings file: %w", err)
	}
	return config.Load(flags, p.Environ, file, checks...)
}

// StoreFlags returns the flags that name a store or an API. Without them, a command asks the worker
// on this machine.
func StoreFlags() *pflag.FlagSet {
	return flagsOf(config.Commands, "api", "api-key-file", "redis-url", "redis-tls-ca", "redis-tls-cert", "redis-tls-key", "redis-tls-server-name", "prefix", config.FileFlag)
}

// AccountFlag returns the flag for the account of a command's messages.
func AccountFlag() *pflag.FlagSet { return flagsOf(config.Commands, "account") }

// SettingFlags returns the worker's flags of these names.
func SettingFlags(names ...string) *pflag.FlagSet { return flagsOf(config.Worker, names...) }

func flagsOf(program config.Program, names ...string) *pflag.FlagSet {
	all := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	config.RegisterFlags(all, program)
	some := pflag.NewFlagSet("some", pflag.ContinueOnError)
	for _, name := range names {
		some.AddFlag(all.Lookup(name))
	}
	return some
}
