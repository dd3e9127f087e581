package user

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
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
			none := "There are no users with settings.\n"
			if r.Blocked || r.Policy != "" {
				none = "There are no such users.\n"
			}
			r.Limit = pageSize
			return c.Run(func(cmd *cobra.Command, _ []string, api *client.Client) error {
				return operations.AnswerTable(c.Group, api.ListUsers(cmd.Context(), r), "USER\tPOLICY\tLIMITS\tTIME ZONE\tBLOCKED\tCONTACT", row, none)
			})(cmd, args)
		},
	}
	list.Flags().BoolVar(&r.Blocked, "blocked", false, "only blocked users")
	list.Flags().StringVar(&r.Policy, "policy", "", "only users whose settings name the policy of this `name`")
	return list
}

// pageSize is how many users one request reads.
const pageSize = 1000

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
