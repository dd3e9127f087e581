package channel

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
)

// within bounds what one channel is asked.
const within = 15 * time.Second

// commands is what the subcommands of channel share.
type commands struct {
	cli.Program

	asJSON bool
}

// Command returns the group "worker channel".
func Command(p cli.Program) *cobra.Command {
	c := &commands{Program: p}
	group := &cobra.Command{
		Use: "channel", Short: "Show, check, try or resume the channels that deliver.",
		Long: "Show, check, try or resume the channels that deliver: fcm, apns and webpush to the\n" +
			"devices of users, and the target of --push-url. Give check and send-test the\n" +
			"settings of the workers.\n\n" +
			"A channel whose provider refuses the credentials is stopped for all workers. Its\n" +
			"messages wait, and no attempt counts. Workers probe it once a minute, and go on\n" +
			"by themselves when a probe passes. A channel is also stopped when its provider\n" +
			"calls too many devices gone at once: a wrong project or key makes it refuse all\n" +
			"of them. Then no device is removed, and resume goes on.",
		Example: "  worker channel list --config sendlimit.yaml\n" +
			"  worker channel check --config sendlimit.yaml\n" +
			"  worker channel send-test apns --address-file token.txt --config sendlimit.yaml\n" +
			"  worker channel resume apns --config sendlimit.yaml",
	}
	config.RegisterFlags(group.PersistentFlags(), config.Worker)
	group.PersistentFlags().BoolVar(&c.asJSON, "json", false, "answer in JSON, one object a line")
	group.AddCommand(c.listCommand(), c.checkCommand(), c.sendTestCommand(), c.resumeCommand(), c.keysCommand())
	return group
}
