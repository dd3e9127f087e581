package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channel"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/check"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/deadletters"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/groups"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/policy"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/serve"
)

// Run is the program without its process. args follow its name.
func Run(ctx context.Context, p cli.Program, args []string) error {
	return p.Report(cli.AsksJSON(args), cli.Execute(ctx, p.Names, newCommand(p), args))
}

// newCommand returns the command "sendlimit-worker" with all its subcommands.
func newCommand(p cli.Program) *cobra.Command {
	root := &cobra.Command{
		Use:   cli.Worker,
		Short: "Deliver scheduled messages at their time.",
		Long: "Deliver scheduled messages at their time, until a SIGTERM.\n\n" +
			"Without a Redis URL the worker starts an embedded store for trying, which\n" +
			"only its API reaches. Commands without --api and --redis-url ask the worker on\n" +
			"this machine, at 127.0.0.1:8080 or SENDLIMIT_LISTEN.\n\n" +
			"Every setting can also be given in the environment (--push-url as\n" +
			"SENDLIMIT_PUSH_URL, --redis-url as REDIS_URL) or in a file, see\n" +
			"sendlimit.example.yaml.",
		Example: "  sendlimit-worker run\n" +
			"  sendlimit-worker --redis-url redis://127.0.0.1:6379 --push-url https://push.example.com/deliver\n" +
			"  sendlimit-worker --config sendlimit.yaml",
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	serve.Setup(p, root)
	root.AddCommand(serve.Command(p), check.Command(p), check.PreviewCommand(p), check.HealthCommand(p), groups.Stats(p))
	root.AddCommand(policy.Command(p), channel.Command(p), groups.Pace(p), groups.Sending(p), groups.EventLimit(p))
	root.AddCommand(groups.User(p), deadletters.Command(p), groups.Audit(p))
	root.AddCommand(groups.Account(p), groups.Tier(p))
	return root
}
