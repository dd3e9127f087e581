package user

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func (c commands) listCommand() *cobra.Command {
	var r client.ListUsersQuery
	list := &cobra.Command{
		Use:   "list",
		Short: "List the users with settings.",
		Long: "List the users with settings, in the order of the store: not by name, and the same\n" +
			"each time. --json prints an object a line.",
		Example: "  worker user list --blocked\n" +
			"  worker user list --policy vip --json",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("policy") && r.Policy == "" {
				return c.Report(c.JSON, cli.Usage(cmd, "policy", "--policy needs the name of a policy"))
			}
			r.Limit = pageSize
			return c.Run(func(cmd *cobra.Command, _ []string, api *client.Client) error { return c.list(cmd, api, r) })(cmd, args)
		},
	}
	list.Flags().BoolVar(&r.Blocked, "blocked", false, "only blocked users")
	list.Flags().StringVar(&r.Policy, "policy", "", "only users whose settings name the policy of this `name`")
	return list
}

// pageSize is how many users are read and laid out at a time.
const pageSize = 1000

// list prints the users page by page, so that memory does not grow with their number.
func (c commands) list(cmd *cobra.Command, api *client.Client, r client.ListUsersQuery) error {
	table := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	listed := 0
	for user, err := range api.ListUsers(cmd.Context(), r) {
		switch {
		case err != nil:
		case c.JSON:
			err = c.PrintJSON(user)
		case listed == 0:
			_, err = fmt.Fprintln(table, "USER\tPOLICY\tLIMITS\tTIME ZONE\tBLOCKED\tCONTACT\n"+row(user))
		default:
			_, err = fmt.Fprintln(table, row(user))
		}
		if listed++; err == nil && listed%pageSize == 0 {
			err = table.Flush()
		}
		if err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the users: %w", err)
	}
	switch {
	case listed > 0 || c.JSON:
		return nil
	case r.Blocked || r.Policy != "":
		return c.Print("There are no such users.\n")
	}
	return c.Print("There are no users with settings.\n")
}

// row returns the cells of a user.
func row(u client.ListedUser) string {
	if u.Unreadable {
		return fmt.Sprintf("%q\tcan't be read: run the newer program that wrote the settings\t\t\t\t", u.User)
	}
	blocked := ""
	if u.Blocked {
		blocked = "blocked"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", u.User, cmp.Or(u.Policy, policy.DefaultName),
		strings.Join(u.Limits, ", "), u.TimeZone, blocked, policy.RedactContact(u.Contact))
}
