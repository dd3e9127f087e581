package command

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/account"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/auditlog"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channel"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/check"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/deadletters"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/eventlimit"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/pace"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/policy"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/serve"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/status"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/user"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Run is the worker without its process. args are those after its name.
func Run(ctx context.Context, p cli.Program, args []string) error {
	err := cli.Execute(ctx, p.Names, newCommand(p), args)
	_, usage := errors.AsType[*cli.UsageError](err)
	_, invalid := errors.AsType[*fault.InvalidError](err)
	// Commands report their own errors. A wrong command line never gets to one.
	return p.Report((usage || invalid) && slices.Contains(args, "--json"), err)
}

// newCommand returns the command "worker" with all its subcommands.
func newCommand(p cli.Program) *cobra.Command {
	root := &cobra.Command{
		Use:   "worker",
		Short: "Deliver scheduled messages at their time.",
		Long: "Deliver scheduled messages at their time, until a SIGTERM.\n\n" +
			"Without a Redis URL the worker starts an embedded store, for trying out, which\n" +
			"only its API reaches. Commands without --api and --redis-url ask the worker on\n" +
			"this machine, at 127.0.0.1:8080 or SENDLIMIT_LISTEN.\n\n" +
			"Every setting can also be given in the environment (--push-url as\n" +
			"SENDLIMIT_PUSH_URL, --redis-url as REDIS_URL) or in a file, see\n" +
			"sendlimit.example.yaml.",
		Example: "  worker\n" +
			"  worker --redis-url redis://127.0.0.1:6379 --push-url https://push.example.com/deliver\n" +
			"  worker --config sendlimit.yaml",
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	serve.Setup(p, root)
	root.AddCommand(serve.Command(p), check.Command(p), check.PreviewCommand(p), status.StatsCommand(p), status.HealthCommand(p))
	root.AddCommand(policy.Command(p), channel.Command(p), pace.Command(p), eventlimit.Command(p))
	root.AddCommand(user.Command(p), deadletters.Command(p), auditlog.Command(p))
	root.AddCommand(account.Command(p), account.TierCommand(p))
	return root
}
