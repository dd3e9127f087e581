package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit"
)

// userDocument is what is set for a user, as answers have it.
type userDocument struct {
	User    string `json:"user"`
	Contact string `json:"contact"`
}

// String is the document for a person.
func (d userDocument) String() string {
	if d.Contact == "" {
		return fmt.Sprintf("nothing is set for %s: quota alerts go nowhere\n", d.User)
	}
	return fmt.Sprintf("%s: quota alerts go to %s\n", d.User, d.Contact)
}

// settingsCommands show and change what is set for one user.
func (p program) settingsCommands(ctx context.Context) []*cobra.Command {
	var asJSON bool
	command := func(use, short string, do func(context.Context, *sendlimit.UserSettingsStore, string) error) *cobra.Command {
		cmd := &cobra.Command{
			Use: use, Short: short, Args: cli.Argument("USER"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return p.reported(asJSON, p.withUserSettings(ctx, cmd.Flags(), func(settings *sendlimit.UserSettingsStore) error {
					if err := do(ctx, settings, args[0]); err != nil {
						return err
					}
					return p.showUser(ctx, settings, args[0], asJSON)
				}))
			},
		}
		cmd.Flags().BoolVar(&asJSON, "json", false, "answer with one line of JSON")
		return cmd
	}
	show := command("show USER", "Show what is set for a user.",
		func(context.Context, *sendlimit.UserSettingsStore, string) error { return nil })
	clearAll := command("clear USER", "Remove all that is set for a user.",
		func(ctx context.Context, settings *sendlimit.UserSettingsStore, user string) error {
			if _, err := settings.Clear(ctx, user); err != nil {
				return fmt.Errorf("clearing a user's settings: %w", err)
			}
			return nil
		})
	show.Example = "  worker user show alice --json"
	clearAll.Example = "  worker user clear alice"
	var contact string
	set := command("set USER --contact CONTACT", "Set where a user's quota alerts go.",
		func(ctx context.Context, settings *sendlimit.UserSettingsStore, user string) error {
			if contact == "" {
				return &cli.UsageError{Detail: "--contact is missing: an e-mail address or an https: URL; worker user clear removes it"}
			}
			if err := settings.Set(ctx, user, sendlimit.UserSettings{Contact: contact}); err != nil {
				return fmt.Errorf("setting what is a user's own: %w", err)
			}
			return nil
		})
	set.Long = "Set where a user's quota alerts go: an e-mail address, or an https: URL that gets\n" +
		"a POST for each. An alert is raised when a daily rule of the policy is 80 % and\n" +
		"100 % full, once a day each; see alert_at in worker policy apply for others."
	set.Example = "  worker user set alice --contact ada@example.org"
	set.Flags().StringVar(&contact, "contact", "", "e-mail `address` or https: URL for quota alerts")
	return []*cobra.Command{show, set, clearAll}
}

func (p program) showUser(ctx context.Context, settings *sendlimit.UserSettingsStore, user string, asJSON bool) error {
	set, err := settings.Get(ctx, user)
	if err != nil {
		return fmt.Errorf("showing a user's settings: %w", err)
	}
	document := userDocument{User: user, Contact: set.Contact}
	if asJSON {
		return p.printJSON(document)
	}
	return p.print(document.String())
}

// withUserSettings calls do with the settings of the users of the store that the
// flags name.
func (p program) withUserSettings(
	ctx context.Context, flags *pflag.FlagSet, do func(*sendlimit.UserSettingsStore) error,
) error {
	return p.withStore(ctx, flags, func(client redis.UniversalClient, c config.Config) error {
		settings, err := sendlimit.NewUserSettingsStore(client, c.Prefix)
		if err != nil {
			return fmt.Errorf("opening the settings of users: %w", err)
		}
		return do(settings)
	})
}
