package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The names of the two programs.
const (
	Submitter = "sendlimit"
	Worker    = "sendlimit-worker"
)

// Names is how hints spell the programs' names, so that a person can copy them. The zero value
// leaves the names as they are.
type Names struct{ fromSource bool }

// NamesOf returns the names for a program that was started as called, the first of os.Args.
// Under "go run" hints spell both programs with "go run".
func NamesOf(called string) Names {
	folder := filepath.Dir(called)
	return Names{fromSource: filepath.Base(folder) == "exe" && strings.Contains(folder, "go-build")}
}

// Spell returns a text with the names as a person can type them.
func (n Names) Spell(text string) string {
	if !n.fromSource {
		return text
	}
	text = callsOfWorker.ReplaceAllString(text, "${1}go run ./cmd/worker$2")
	return callsOfSubmitter.ReplaceAllString(text, "${1}go run ./cmd/enqueue$2")
}

// These match a program's name before a command or a flag.
var (
	callsOfWorker    = regexp.MustCompile("(^|[\\s\"'(|`])" + Worker + "( [a-z-])")
	callsOfSubmitter = regexp.MustCompile("(^|[\\s\"'(|`])" + Submitter + "( [a-z-])")
)

// The commands of the programs.
const (
	workerCommands    = "run check email-preview stats audit policy channel pace event-limit user dead-letters account tier health sending"
	submitterCommands = "push bulk cancel move status find list usage next-free campaign device events change"
)

// meant maps words that are no command to the command that people mean.
var meant = map[string]string{ //nolint:globals // a constant table
	"send": "push", "submit": "push", "schedule": "push", "enqueue": "push", "message": "status",
	"start": "run", "serve": "run", "worker": "run", "server": "run",
}

// elsewhere returns the command that a person means who gave program an unknown one: a command of
// the other program, or one with another name. It is "" if no command fits.
func elsewhere(program, unknown string) string {
	command, synonym := meant[unknown]
	if !synonym {
		command = unknown
	}
	for other, commands := range map[string]string{Worker: workerCommands, Submitter: submitterCommands} {
		if (synonym || other != program) && slices.Contains(strings.Fields(commands), command) {
			return other + " " + command
		}
	}
	return ""
}

// name makes the help of root and its commands use these names.
func (n Names) name(root *cobra.Command) {
	if n.fromSource {
		called := strings.TrimSuffix(n.Spell(root.Name()+" x"), " x")
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: called}
	}
	n.spellHelp(root)
}

func (n Names) spellHelp(c *cobra.Command) {
	c.Short, c.Long, c.Example = n.Spell(c.Short), n.Spell(c.Long), n.Spell(c.Example)
	spell := func(f *pflag.Flag) { f.Usage = n.Spell(f.Usage) }
	c.PersistentFlags().VisitAll(spell)
	c.LocalNonPersistentFlags().VisitAll(spell)
	for _, under := range c.Commands() {
		n.spellHelp(under)
	}
}
