package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// keyFlags are the flags with the settings of an API key.
type keyFlags struct {
	scopes  []string
	expires string
}

func (f *keyFlags) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.scopes, "scopes", []string{"submit", "read"}, "what the key may be used for: submit, read, admin, content; content needs admin, and shows the content of other accounts' messages")
	cli.Words(flags, "scopes",
		string(accounts.ScopeSubmit), string(accounts.ScopeRead), string(accounts.ScopeAdmin), string(accounts.ScopeContent))
	flags.StringVar(&f.expires, "expires-at", "", "RFC 3339 `time` at which the key expires; by default never")
}

func (f *keyFlags) parse() ([]accounts.Scope, time.Time, error) {
	if len(f.scopes) == 0 { // --scopes=""
		return nil, time.Time{}, fault.Wrong("scopes", "scopes is empty: a key needs at least one of submit, read and admin")
	}
	scopes, err := accounts.ParseScopes(f.scopes...)
	if err != nil || f.expires == "" {
		return scopes, time.Time{}, err
	}
	expires, err := time.Parse(time.RFC3339, f.expires)
	if err != nil {
		return nil, time.Time{}, &fault.InvalidError{
			Field: "expires_at", Value: f.expires, Want: "an RFC 3339 time such as 2040-01-01T00:00:00Z",
		}
	}
	return scopes, expires, nil
}

func (a *commands) addKeyCommand() *cobra.Command {
	var k keyFlags
	add := a.command("add-key NAME", "Add a key to an account, and print the key.", cli.Argument("NAME"),
		func(ctx context.Context, accounts *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			scopes, expires, err := k.parse()
			if err != nil {
				return err
			}
			secret, key, err := accounts.AddKey(ctx, args[0], scopes, expires)
			if err != nil {
				return fmt.Errorf("adding the key: %w", err)
			}
			return a.printKey(args[0], secret, key, "")
		})
	k.register(add.Flags())
	add.Example = "  worker account add-key acme --scopes read --expires-at 2040-01-01T00:00:00Z"
	return add
}

func (a *commands) rotateKeyCommand() *cobra.Command {
	var overlap string
	rotate := a.command("rotate-key NAME [KEY-ID]", "Replace a key by a new one, and print the new one.", accountAndKey(false),
		func(ctx context.Context, registry *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			length, err := accounts.ParseOverlap(overlap)
			if err != nil {
				return err
			}
			id := ""
			if len(args) > 1 {
				id = args[1]
			}
			secret, key, err := registry.RotateKey(ctx, args[0], id, length)
			if problem, ok := errors.AsType[*fault.InvalidError](err); ok && id == "" && problem.Field == "key" {
				return &cli.UsageError{Field: "key", Detail: fmt.Sprintf(
					"%s has several keys, and KEY-ID says which: it takes %s", args[0], problem.Want)}
			}
			if err != nil {
				return fmt.Errorf("rotating the key: %w", err)
			}
			old := "The old key is no longer valid."
			if length > 0 {
				old = "The old key stays valid for " + calendar.FormatDuration(length) + "."
			}
			return a.printKey(args[0], secret, key, old)
		})
	rotate.Flags().StringVar(&overlap, "overlap", calendar.FormatDuration(accounts.DefaultOverlap),
		"how `long` the old key stays valid; 0 ends it at once")
	rotate.Long = "Replace a key by a new one with the same scopes, and print the new one. The old one\n" +
		"stays valid for a while, so that there is time to install the new one. KEY-ID can be\n" +
		"left out if the account has one key."
	rotate.Example = "  worker account rotate-key acme --overlap 1h\n  worker account rotate-key acme Zx3kQ9aB --overlap 0"
	return rotate
}

func (a *commands) removeKeyCommand() *cobra.Command {
	remove := a.command("remove-key NAME KEY-ID", "Remove a key, and show the account.", accountAndKey(true),
		func(ctx context.Context, accounts *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			account, err := accounts.RemoveKey(ctx, args[0], args[1])
			if err != nil {
				return fmt.Errorf("removing the key: %w", err)
			}
			return a.printAccount(account)
		})
	remove.Example = "  worker account remove-key acme Zx3kQ9aB"
	return remove
}

// accountAndKey requires the name of an account, accepts the id of a key, and may require
// it.
func accountAndKey(required bool) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return cli.Usage(c, "name", "NAME is missing")
		case len(args) == 1 && required:
			return cli.Usage(c, "key", "KEY-ID is missing: worker account show lists those there are")
		case len(args) > 2:
			return cli.Usage(c, "key", fmt.Sprintf("%q is too much: one KEY-ID is expected", args[2]))
		}
		return nil
	}
}

// madeKey is the answer with a new key.
type madeKey struct {
	Account string `json:"account"`
	message.NewAPIKey
}

// printKey prints a new key. Only the key goes to standard output, so that a script can
// read it. What a person should know goes to standard error.
func (a *commands) printKey(account, secret string, key accounts.APIKey, more string) error {
	if a.asJSON {
		return a.PrintJSON(madeKey{Account: account, NewAPIKey: message.NewAPIKey{APIKey: api.KeyOf(key), Secret: secret}})
	}
	scopes := make([]string, len(key.Scopes))
	for i, scope := range key.Scopes {
		scopes[i] = string(scope)
	}
	sentence := fmt.Sprintf("This is key %s of account %s (%s). It is not shown again: only its SHA-256 is stored.\n",
		key.ID, account, strings.Join(scopes, ", "))
	if more != "" {
		sentence += more + "\n"
	}
	if _, err := fmt.Fprint(a.Stderr, sentence); err != nil {
		return fmt.Errorf("saying what the key is: %w", err)
	}
	return a.Print(secret + "\n")
}
