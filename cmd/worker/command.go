package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// program is what the worker has from its process.
type program struct {
	environ []string // as os.Environ gives it
	stdin   io.Reader
	stdout  io.Writer // deliveries of the target "log:", and what a subcommand answers
	stderr  io.Writer // everything else
}

// run is the worker without its process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	p := program{environ: os.Environ(), stdin: stdin, stdout: stdout, stderr: stderr}
	return p.run(ctx, args)
}

func (p program) run(ctx context.Context, args []string) error {
	err := cli.Execute(ctx, p.command(ctx), args)
	_, usage := errors.AsType[*cli.UsageError](err)
	_, invalid := errors.AsType[*fault.InvalidError](err)
	// A command line that makes no sense never reached the command, which knows
	// how to answer.
	return p.reported((usage || invalid) && slices.Contains(args, "--json"), err)
}

func (p program) command(ctx context.Context) *cobra.Command {
	root := &cobra.Command{
		Use:   "worker",
		Short: "Deliver scheduled messages at their time.",
		Long: "Deliver scheduled messages at their time, until a SIGTERM.\n\n" +
			"Without a Redis URL the worker brings an embedded store, for trying out. Every\n" +
			"setting can also be given in the environment (--push-url as SENDLIMIT_PUSH_URL,\n" +
			"--redis-url as REDIS_URL) or in a file, see sendlimit.example.yaml.",
		Example: "  worker\n" +
			"  worker --redis-url redis://127.0.0.1:6379 --push-url https://push.example.com/deliver\n" +
			"  worker --config sendlimit.yaml",
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	p.delivers(ctx, root)
	root.AddCommand(p.policyCommand(ctx), p.paceCommand(ctx))
	root.AddCommand(p.deadLettersCommand(ctx))
	root.AddCommand(p.runCommand(ctx), p.userCommand(ctx))
	root.AddCommand(p.eventCommand(ctx))
	root.AddCommand(p.checkCommand(ctx), p.emailPreviewCommand(ctx))
	root.AddCommand(p.accountCommand(ctx), p.tierCommand(ctx))
	return root
}

// load reads the settings from the flags, the environment and the file that a
// flag names.
func (p program) load(flags *pflag.FlagSet, checks ...config.Check) (config.Config, error) {
	file, err := flags.GetString(config.FileFlag)
	if err != nil {
		return config.Config{}, fmt.Errorf("reading the flag of the settings file: %w", err)
	}
	return config.Load(flags, p.environ, file, checks...)
}
