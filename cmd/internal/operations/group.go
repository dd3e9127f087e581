package operations

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// Group is shared by the commands of a group. Each calls operations, and prints the answer for a
// person or, with --json, for a program.
type Group struct {
	cli.Program

	JSON bool

	worker *worker // nil if the settings name an API or a store
}

// Asked returns a line that names the worker that answered, and its store; "" if the settings name
// an API or a store.
func (g *Group) Asked() string {
	if g.worker == nil {
		return ""
	}
	return g.worker.String()
}

// NewGroup returns the group of the commands under one of which some change something, and gives
// them the common flags.
func NewGroup(p cli.Program, command *cobra.Command) *Group {
	command.PersistentFlags().String(byFlag, "", "your `name` for the audit log and the versions of a policy, without a key (default the user of the operating system)")
	command.PersistentFlags().Lookup(byFlag).Annotations = map[string][]string{makerAnnotation: {}}
	return NewView(p, command)
}

// NewView is NewGroup for read-only commands.
func NewView(p cli.Program, command *cobra.Command) *Group {
	g := &Group{Program: p}
	command.PersistentFlags().AddFlagSet(cli.StoreFlags())
	command.PersistentFlags().BoolVar(&g.JSON, "json", false, "print the API's answers, one JSON object a line")
	return g
}

// Run returns a command's function, which calls do with a client and the arguments.
func (g *Group) Run(do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return g.With(cmd, func(ctx context.Context, c *client.Client) error { return do(ctx, c, args) })
	}
}

// One is Run for an operation on the thing that the argument names. It prints the answer in words.
func One[T any](
	g *Group, operation func(c *client.Client, ctx context.Context, name string) (T, error), words func(T) string,
) func(*cobra.Command, []string) error {
	return g.Run(func(ctx context.Context, c *client.Client, args []string) error {
		answer, err := operation(c, ctx, args[0])
		return Answer(g, answer, err, words)
	})
}

// Table is a list for a person: a header, a row for each entry, whose cells are separated by tabs,
// and a sentence for an empty list.
type Table[T any] struct {
	Header string
	Row    func(T) []string
	None   string
}

// List is Run for an operation that lists what matches query.
func List[T, Q any](
	g *Group, operation func(c *client.Client, ctx context.Context, query Q) iter.Seq2[T, error], query Q, t Table[T],
) func(*cobra.Command, []string) error {
	return g.Run(func(ctx context.Context, c *client.Client, _ []string) error {
		return t.Answer(g, operation(c, ctx, query))
	})
}

// Answer prints an answer, in words or as JSON.
func Answer[T any](g *Group, answer T, err error, words func(T) string) error {
	switch {
	case err != nil:
		return err
	case g.JSON:
		return g.PrintJSON(answer)
	}
	return g.PrintHint(words(answer))
}

// AnswerEach prints each entry of a list like Answer. A person reads none if the list is empty.
func AnswerEach[T any](g *Group, list iter.Seq2[T, error], words func(T) string, none string) error {
	some := false
	for entry, err := range list {
		if err := Answer(g, entry, err, words); err != nil {
			return err
		}
		some = true
	}
	if some || g.JSON {
		return nil
	}
	return g.PrintHint(none)
}

// Each yields the entries of a list that is complete.
func Each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, entry := range list {
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// tablePage is how many entries of a table are aligned at a time.
const tablePage = 1000

// Answer is AnswerEach with a table for a person. Memory does not grow with the length of the list.
func (t Table[T]) Answer(g *Group, list iter.Seq2[T, error]) error {
	if g.JSON {
		return AnswerEach(g, list, nil, "")
	}
	table := tabwriter.NewWriter(cli.VisibleTo(g.Stdout), 0, 0, 2, ' ', 0)
	listed := 0
	for entry, err := range list {
		if err != nil {
			return err
		}
		if listed == 0 {
			fmt.Fprintln(table, t.Header)
		}
		fmt.Fprintln(table, strings.Join(t.Row(entry), "\t"))
		if listed++; listed%tablePage == 0 {
			if err := table.Flush(); err != nil {
				return fmt.Errorf("printing the list: %w", err)
			}
		}
	}
	if listed == 0 {
		return g.PrintHint(t.None)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the list: %w", err)
	}
	return nil
}
