package groups

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// keyFlags are the flags with the settings of an API key.
type keyFlags struct {
	scopes  []string
	expires string
}

func (f *keyFlags) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.scopes, "scopes", []string{"submit", "read"}, "scopes of the key: submit, read, admin, content; content requires admin, and shows the content of other accounts' messages")
	cli.Words(flags, "scopes",
		string(accounts.ScopeSubmit), string(accounts.ScopeRead), string(accounts.ScopeAdmin), string(accounts.ScopeContent))
	flags.StringVar(&f.expires, "expires-at", "", "RFC 3339 `time` at which the key expires (default never)")
}

// draft returns the key to add.
func (f *keyFlags) draft() (client.APIKeyDraft, error) {
	key := client.APIKeyDraft{Scopes: f.scopes, ExpiresAt: f.expires}
	if len(f.scopes) == 0 { // --scopes=""
		return key, fault.Wrong("scopes", "scopes is empty: at least one of submit, read and admin is required")
	}
	if _, err := accounts.ParseScopes(f.scopes...); err != nil { // before the account is created
		return key, err
	}
	if f.expires == "" {
		return key, nil
	}
	_, err := calendar.ParseTime(f.expires, nil)
	return key, fault.InField(err, "expires_at")
}

func (a account) addKeyCommand() *cobra.Command {
	var k keyFlags
	add := &cobra.Command{
		Use: "add-key NAME", Short: "Add a key to an account, and print the key.",
		Example: "  sendlimit-worker account add-key acme --scopes read --expires-at 2040-01-01T00:00:00Z",
		RunE: a.Run(func(ctx context.Context, c *client.Client, args []string) error {
			draft, err := k.draft()
			if err != nil {
				return err
			}
			key, err := c.AddAccountKey(ctx, args[0], draft)
			if err != nil {
				return err
			}
			return a.printKey(args[0], key, "")
		}),
	}
	k.register(add.Flags())
	return add
}

func (a account) rotateKeyCommand() *cobra.Command {
	var overlap string
	rotate := &cobra.Command{
		Use: "rotate-key NAME [KEY-ID]", Short: "Replace a key by a new one, and print the new one.",
		Long: "Replace a key by a new one with the same scopes, and print the new one. The old one\n" +
			"stays valid for a time, so that you can install the new one. KEY-ID can be\n" +
			"left out if the account has one key.",
		Example: "  sendlimit-worker account rotate-key acme --overlap 1h\n  sendlimit-worker account rotate-key acme Zx3kQ9aB --overlap 0",
		Args:    accountAndKey(false),
		RunE: a.Run(func(ctx context.Context, c *client.Client, args []string) error {
			length, err := accounts.ParseOverlap(overlap)
			if err != nil {
				return err
			}
			id, err := keyOf(ctx, c, args)
			if err != nil {
				return err
			}
			key, err := c.RotateAccountKey(ctx, args[0], id, client.APIKeyRotation{Overlap: length.String()})
			if err != nil {
				return err
			}
			old := "The old key is no longer valid."
			if length > 0 {
				old = "The old key stays valid for " + calendar.FormatDuration(length) + "."
			}
			return a.printKey(args[0], key, old)
		}),
	}
	overlapFlag(rotate, &overlap, "how `long` the old key stays valid; 0 ends it at once")
	return rotate
}

// overlapFlag adds --overlap to a command that replaces a secret.
func overlapFlag(cmd *cobra.Command, overlap *string, help string) {
	cmd.Flags().StringVar(overlap, "overlap", calendar.FormatDuration(accounts.DefaultOverlap), help)
}

// keyOf returns the id of the key in the arguments, or of the account's only key that has not
// expired.
func keyOf(ctx context.Context, c *client.Client, args []string) (string, error) {
	if len(args) > 1 {
		return args[1], nil
	}
	account, err := c.Account(ctx, args[0])
	if err != nil {
		return "", err
	}
	var ids []string
	for _, key := range account.Keys {
		if key.ExpiresAt.IsZero() || key.ExpiresAt.After(account.Usage.Now.Time) {
			ids = append(ids, key.ID)
		}
	}
	switch len(ids) {
	case 0:
		return "", &cli.UsageError{Field: "key", Detail: args[0] + "  has no key: see sendlimit-worker account add-key"}
	case 1:
		return ids[0], nil
	default:
		return "", &cli.UsageError{Field: "key", Detail: fmt.Sprintf(
			"%s has several keys: give one as KEY-ID: %s", args[0], strings.Join(ids, ", "))}
	}
}

// accountAndKey requires the name of an account, accepts the id of a key, and may require it.
func accountAndKey(required bool) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return cli.Usage(c, "name", "NAME is missing")
		case len(args) == 1 && required:
			return cli.Usage(c, "key", "KEY-ID is missing: sendlimit-worker account show lists the keys")
		case len(args) > 2:
			return cli.Usage(c, "key", fmt.Sprintf("unexpected argument %q: give one KEY-ID", args[2]))
		}
		return nil
	}
}

// printKey prints a new key. Only the key goes to standard output, so that a script can read it.
// Notes for a person go to standard error.
func (a account) printKey(account string, key client.NewAPIKey, more string) error {
	if a.JSON {
		return a.PrintJSON(key)
	}
	sentence := fmt.Sprintf("This is key %s of account %s (%s). It is not shown again: only its SHA-256 is stored.\n",
		key.ID, account, scopesOf(key.APIKey))
	if more != "" {
		sentence += more + "\n"
	}
	if err := a.Tell("%s", sentence); err != nil {
		return err
	}
	return a.Print(key.Secret + "\n")
}

func scopesOf(key client.APIKey) string {
	scopes := make([]string, len(key.Scopes))
	for i, scope := range key.Scopes {
		scopes[i] = string(scope)
	}
	return strings.Join(scopes, ", ")
}
