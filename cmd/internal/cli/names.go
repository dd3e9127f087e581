package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Names are what a person calls the two programs by, so that a hint can be copied. The zero
// value has their names in this repository, worker and enqueue.
type Names struct {
	worker, enqueue string
}

// NamesOf returns the names that go with what a program was called by, the first of os.Args:
// sendlimit-worker and sendlimit where these are installed, the folder of the sources under
// "go run", and the folder of a program that was called by a relative path. own is the name
// of that program in this repository.
func NamesOf(called, own string) Names {
	folder, base := filepath.Split(called)
	base = strings.TrimSuffix(base, ".exe")
	switch n := (Names{}); {
	case strings.HasSuffix(base, ".test"):
		return n
	case ranFromSource(folder):
		return namesBeside("go run ./cmd/", base)
	case filepath.IsAbs(called), folder == "":
		return namesBeside("", base).with(own, base)
	default:
		return namesBeside(folder, base).with(own, folder+base)
	}
}

// ranFromSource reports whether a program is in the folder where "go run" builds.
func ranFromSource(folder string) bool {
	return filepath.Base(folder) == "exe" && strings.Contains(folder, "go-build")
}

// namesBeside returns the names of both programs after a prefix: the installed names if one
// of them is base.
func namesBeside(prefix, base string) Names {
	if base == installedWorker || base == installedEnqueue {
		return Names{worker: prefix + installedWorker, enqueue: prefix + installedEnqueue}
	}
	return Names{worker: prefix + ownWorker, enqueue: prefix + ownEnqueue}
}

// The names in this repository, and those on a PATH.
const (
	ownWorker, ownEnqueue             = "worker", "enqueue"
	installedWorker, installedEnqueue = "sendlimit-worker", "sendlimit"
)

// with returns the names with another one for the program that is called own here.
func (n Names) with(own, name string) Names {
	if own == ownWorker {
		n.worker = name
	} else {
		n.enqueue = name
	}
	return n
}

// Of returns the name for one that is worker or enqueue in this repository.
func (n Names) Of(own string) string {
	switch {
	case own == ownWorker && n.worker != "":
		return n.worker
	case own == ownEnqueue && n.enqueue != "":
		return n.enqueue
	default:
		return own
	}
}

// The commands of the programs, between bars.
const (
	workerCommands  = "run|check|email-preview|stats|audit|policy|channel|pace|event-limit|user|dead-letters|account|tier|health"
	enqueueCommands = "push|bulk|cancel|move|status|find|list|usage|next-free|campaign|device|events|change"
)

// Texts in this repository are written with its own names. calls matches a program with a
// command of its own, and alone a line of an example that is only the program.
var (
	calls = regexp.MustCompile("(^|[\\s\"'(|`])(worker|enqueue) (" + workerCommands + "|" + enqueueCommands +
		"|without|man|version|completion|--[a-z])")
	alone = regexp.MustCompile(`(?m)^  (worker|enqueue)$`)
)

// meant has what people mean by commands that there are not.
var meant = map[string]string{ //nolint:globals // a constant table
	"send": "enqueue push", "submit": "enqueue push", "schedule": "enqueue push", "enqueue": "enqueue push", "message": "enqueue status",
	"start": "worker run", "serve": "worker run", "worker": "worker run", "server": "worker run",
}

// Elsewhere returns the command that somebody may mean who called a program by an unknown one: that
// of the other program with the same name, or another name of it. It is "" for none.
func (n Names) Elsewhere(own, unknown string) string {
	known := meant[unknown]
	switch {
	case own == ownEnqueue && slices.Contains(strings.Split(workerCommands, "|"), unknown):
		known = ownWorker + " " + unknown
	case own == ownWorker && slices.Contains(strings.Split(enqueueCommands, "|"), unknown):
		known = ownEnqueue + " " + unknown
	}
	return n.Spell(known)
}

// Spell returns a text whose hints call the programs by these names.
func (n Names) Spell(text string) string {
	worker, enqueue := n.Of(ownWorker), n.Of(ownEnqueue)
	if worker == ownWorker && enqueue == ownEnqueue {
		return text
	}
	text = calls.ReplaceAllStringFunc(text, func(call string) string {
		parts := calls.FindStringSubmatch(call)
		return parts[1] + n.Of(parts[2]) + " " + parts[3]
	})
	return alone.ReplaceAllStringFunc(text, func(line string) string { return "  " + n.Of(strings.TrimSpace(line)) })
}

// name makes the help of root and its commands use these names.
func (n Names) name(root *cobra.Command) {
	own := root.Name()
	name := n.Of(own)
	if base := filepath.Base(name); !strings.Contains(base, " ") {
		root.Use = base + strings.TrimPrefix(root.Use, own) // shells complete it
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
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
