package user

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func (u *userSettings) listCommand() *cobra.Command {
	var r settings.ListRequest
	list := &cobra.Command{
		Use:   "list",
		Short: "List the users with settings.",
		Long: "List the users with settings, in the order of the store: not by name, and the same\n" +
			"each time. --json prints an object a line.",
		Example: "  worker user list --blocked\n" +
			"  worker user list --policy vip --json",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("policy") && r.Policy == "" {
				return u.Report(u.json, cli.Usage(cmd, "policy", "--policy needs the name of a policy"))
			}
			return u.withSettings(cmd, func(ctx context.Context) error { return u.list(ctx, r) })
		},
	}
	list.Flags().BoolVar(&r.Blocked, "blocked", false, "only blocked users")
	list.Flags().StringVar(&r.Policy, "policy", "", "only users whose settings name the policy of this `name`")
	return list
}

// list prints the users page by page, so that memory does not grow with their number.
func (u *userSettings) list(ctx context.Context, r settings.ListRequest) error {
	table := tabwriter.NewWriter(u.Stdout, 0, 0, 2, ' ', 0)
	encoder := json.NewEncoder(cli.VisibleTo(u.Stdout))
	encoder.SetEscapeHTML(false)
	listed := false
	for {
		page, next, err := u.List(ctx, r)
		if err != nil {
			return fmt.Errorf("listing the users: %w", err)
		}
		for _, found := range page {
			user := message.ListedUserOf(found.User, found.Settings, found.Unreadable)
			switch {
			case u.json:
				err = encoder.Encode(user)
			case !listed:
				_, err = fmt.Fprintln(table, "USER\tPOLICY\tLIMITS\tTIME ZONE\tBLOCKED\tCONTACT")
				fallthrough
			default:
				if err == nil {
					_, err = fmt.Fprintln(table, row(user, found.Settings))
				}
			}
			if err != nil {
				return fmt.Errorf("printing the users: %w", err)
			}
			listed = true
		}
		if err := table.Flush(); err != nil {
			return fmt.Errorf("printing the users: %w", err)
		}
		if r.After = next; next == "" {
			break
		}
	}
	if listed || u.json {
		return nil
	}
	if r.Blocked || r.Policy != "" {
		return u.Print("There are no such users.\n")
	}
	return u.Print("There are no users with settings.\n")
}

// row returns the cells of a user.
func row(u message.ListedUser, s policy.UserSettings) string {
	if u.Unreadable {
		return fmt.Sprintf("%q\tcan't be read: run the newer program that wrote the settings\t\t\t\t", u.User)
	}
	blocked := ""
	if u.Blocked {
		blocked = "blocked"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", u.User, cmp.Or(u.Policy, policy.DefaultName),
		policy.JoinRules(s.Limits, ", "), u.TimeZone, blocked, policy.RedactContact(u.Contact))
}
