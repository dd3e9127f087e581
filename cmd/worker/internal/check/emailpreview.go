package check

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const (
	// previewFrom is the sender in a preview without a configured one, previewTo the receiver.
	previewFrom = "sendlimit@localhost"
	previewTo   = "contact@example.com"
)

// preview selects the parts of a mail to show.
type preview struct {
	html, text, headers bool
	account             string
}

// PreviewCommand returns "sendlimit-worker email-preview".
func PreviewCommand(p cli.Program) *cobra.Command {
	var shows preview
	cmd := &cobra.Command{
		Use: "email-preview KIND", Short: "Show an example of an e-mail.",
		Long: "Show an example of an e-mail, with invented numbers and the templates of the\n" +
			"settings. Nothing is sent. KIND is one of " + kinds() + ".\n\n" +
			"Without one of the flags, the subject and the text are shown.",
		Example: "  sendlimit-worker email-preview account_quota\n" +
			"  sendlimit-worker email-preview daily_report --html --account acme >report.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			return previewEmail(p, cmd.Flags(), notifier.NoticeKind(args[0]), shows)
		},
	}
	cmd.Flags().AddFlagSet(cli.SettingFlags("email-from", "email-templates", config.FileFlag))
	cmd.Flags().BoolVar(&shows.text, "text", false, "show only the text")
	cmd.Flags().BoolVar(&shows.html, "html", false, "show only the HTML")
	cmd.Flags().BoolVar(&shows.headers, "headers", false, "show only the headers")
	cmd.Flags().StringVar(&shows.account, "account", "", "`name` of the account, user or policy in the e-mail, or the key of an event")
	cmd.MarkFlagsMutuallyExclusive("text", "html", "headers")
	return cmd
}

func kinds() string {
	var names []string
	for _, kind := range notifier.NoticeKinds() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

func previewEmail(p cli.Program, flags *pflag.FlagSet, kind notifier.NoticeKind, shows preview) error {
	settings, err := p.Load(withoutAccount(flags))
	if err != nil {
		return err
	}
	if err := validSubject(kind, shows.account); err != nil {
		return err
	}
	sample, ok := email.Sample(kind, shows.account)
	if !ok {
		return &fault.InvalidError{Field: "KIND", Value: string(kind), Want: "one of " + kinds()}
	}
	from := settings.EmailFrom
	if from == "" {
		from = previewFrom
	}
	composer, err := email.NewComposer(from, settings.EmailTemplates, time.Now)
	if problem, ok := errors.AsType[*notifier.InvalidError](err); ok {
		return &fault.InvalidError{Field: problem.Field, Value: problem.Value, Want: problem.Want}
	}
	if err != nil {
		return fmt.Errorf("creating the e-mail: %w", err)
	}
	message, err := composer.Compose(previewTo, sample)
	if err != nil {
		return fmt.Errorf("creating the e-mail: %w", err)
	}
	return showPreview(p, message, shows)
}

// withoutAccount returns the flags that are settings. The flag --account of this command is not the
// setting "account": it may name a user.
func withoutAccount(flags *pflag.FlagSet) *pflag.FlagSet {
	settings := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "account" {
			settings.AddFlag(f)
		}
	})
	return settings
}

// validSubject checks the name of an alert's subject; "" is an invented one.
func validSubject(kind notifier.NoticeKind, name string) error {
	switch {
	case name == "":
		return nil
	case kind == notifier.NoticeUserQuota, kind == notifier.NoticeEventLimit:
		if err := keyspace.CheckUser(name); err != nil {
			problem, _ := errors.AsType[*fault.InvalidError](err)
			return &fault.InvalidError{Field: "account", Value: name, Want: problem.Want}
		}
	case !accounts.ValidName(name):
		return &fault.InvalidError{Field: "account", Value: name, Want: keyspace.WantName}
	}
	return nil
}

func showPreview(p cli.Program, message email.Message, shows preview) error {
	text := "Subject: " + message.Subject + "\n\n" + message.Text
	switch {
	case shows.text:
		text = message.Text
	case shows.html:
		text = message.HTML
	case shows.headers:
		var err error
		if text, err = message.Headers(); err != nil {
			return err
		}
	}
	return p.Print(text)
}
