package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/messagefile"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/input"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// bulkFlags are the flags of the command.
type bulkFlags struct {
	fileFlags

	fill     messagefile.Fill
	fromLine int
	dryRun   bool
	sent     bool // --record-sent

	// whatIf and whatIfPolicy are rules that a dry run judges by.
	whatIf       []string
	whatIfPolicy string
	policyGiven  bool // whatIfPolicy was given, perhaps empty
}

// filledIn returns the columns that a CSV file may lack.
func (f bulkFlags) filledIn() []string {
	if f.sent {
		return []string{"title", "body"}
	}
	return f.fill.Columns()
}

func (p *program) bulkCommand(ctx context.Context) *cobra.Command {
	var f bulkFlags
	cmd := &cobra.Command{
		Use: "bulk FILE", Short: "Submit the messages of a file",
		Long: `Submit the messages of a file, or of standard input with "-". The file has one
JSON object a line (NDJSON), or is CSV with the names of the fields in its first
line:

  id, user, send_at, category, title, body, campaign, expires_at,
  on_conflict, late, shift_until, follow_zone, clock_strict, data.KEY for each
  entry of data, metadata.KEY for each of metadata, and time_zone for the zone
  of the line's local times: user, or an IANA name (default: that of --tz)

Case, spaces and hyphens in these names do not matter, and fields may be
separated by commas, semicolons or tabs. --column gives a field the column of
another name. --other-columns is for the rest. A user such as null, #N/A or
{{user.id}} is refused, since exports write these for a missing value. A user
such as 4.9E+11, a number that a spreadsheet shortened, ends the reading.

The file may be gzipped. A text of more than 200 times the file's size requires
--force. A user's lines are judged in the order of the file. An invalid line is
reported and skipped; the exit status is then 2.

Running a file again changes nothing: no message is accepted twice. The id of a
line without one is derived from its content.

The quota of an account (--account) is shared by all users of the file, who are
judged in parallel. Which lines get the rest of it may differ between runs, and
from a --dry-run. A refusal tells when there is quota again.

--dry-run shows the outcomes, when the messages would be sent, and how far they
would be shifted. It changes nothing. While it runs, the lines are in temporary
files in the folder of TMPDIR.

--what-if judges by a rule that replaces the one with the same window, or is
added to the others. --what-if-policy judges by a policy file in the format of
sendlimit-worker policy apply. It replaces the store's policy of the same name
("default" if the file names none), which must exist. With both flags, the rule
is added to that policy, and affects only its users. Single users keep their own
limits, time zones and policies. To change rules of a category, use a policy
file.

With --record-sent the lines are messages that another system has sent, each at
its send_at. They are not judged and not delivered, but rules count them for
later messages. Messages too old for any rule are skipped. Title and body are
optional.`,
		Example: `  sendlimit bulk messages.csv
  sendlimit bulk messages.ndjson.gz --dry-run --tz Europe/Berlin
  sendlimit bulk messages.csv --dry-run --what-if 2/calendar_day --what-if 1/hour
  sendlimit bulk messages.csv --dry-run --what-if-policy new-policy.yaml --json
  sendlimit bulk export.csv --column user=external_id --other-columns metadata
  sendlimit bulk messages.csv --title "Your order" --tz Europe/Berlin --results outcomes.ndjson
  sendlimit bulk --record-sent sent-by-the-old-system.csv
  generate-messages | sendlimit bulk - --results - | jq 'select(.outcome == "refused")'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.file, f.policyGiven = args[0], cmd.Flags().Changed("what-if-policy")
			return p.bulk(ctx, cmd, f)
		},
	}
	flags := cmd.Flags()
	f.register(flags, "`action` for other columns of CSV: refuse the file, ignore them, or keep them as metadata")
	cli.Words(flags, "other-columns", string(input.RefuseColumns), string(input.IgnoreColumns), string(input.KeepAsMetadata))
	flags.StringVar(&f.fill.Title, "title", "", "title `text` of lines that have none")
	flags.StringVar(&f.fill.Body, "body", "", "body `text` of lines that have none")
	flags.StringVar(&f.fill.Category, "category", "", "category `name` of lines that have none")
	flags.StringVar(&f.fill.Campaign, "campaign", "", "campaign `name` of lines that have none")
	flags.IntVar(&f.fromLine, "from-line", 1, "`number` of the first line to submit, to continue a stopped run")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show the outcomes without submitting; earlier lines count")
	flags.StringArrayVar(&f.whatIf, "what-if", nil, "`rule` to judge by in a --dry-run, such as 2/calendar_day; repeatable")
	flags.StringVar(&f.whatIfPolicy, "what-if-policy", "", "`file` with a policy to judge by in a --dry-run")
	flags.BoolVar(&f.sent, "record-sent", false, "count the lines as sent by another system, and deliver nothing")
	submitFlags(cmd)
	cmd.Flags().StringVar(&p.tz, "tz", "", "time `zone` of local times: user, for each user's own, or an IANA name, in which times are shown too (default UTC)")
	return cmd
}

func (p *program) bulk(ctx context.Context, cmd *cobra.Command, f bulkFlags) error {
	options, err := f.check()
	if err != nil {
		return err
	}
	zone, err := p.shownIn()
	if err != nil {
		return err
	}
	rules, err := p.whatIf(f)
	if err != nil {
		return err
	}
	file, err := p.openInput(f.file)
	if err != nil {
		return err
	}
	defer file.Close()
	records, err := openRecords(ctx, file, f.force, options)
	if err != nil {
		return fmt.Errorf("reading %s: %w", f.file, err)
	}
	judge := func(submit, dryRun func(*messagefile.Source, *collector) error) error {
		results, err := p.openResults(f.results, file)
		if err != nil {
			return err
		}
		source := messagefile.NewSource(records, f.fill, p.tz, f.fromLine, f.sent)
		c := &collector{reporter: reporter{results: results}, summary: messagefile.Summary{Sent: f.sent}}
		if f.dryRun {
			c.progress, c.summary.Plan = p.startProgress(file, "reading"), &messagefile.Plan{Zone: zone}
			err = dryRun(source, c)
		} else {
			c.progress = p.startProgress(file, "")
			err = submit(source, c)
		}
		return errors.Join(err, source.Close())
	}
	settings, err := p.Load(cmd.Flags(), store.ValidURL)
	if err != nil {
		return err
	}
	if !operations.OnStore(settings, cmd.Flags()) {
		return p.With(cmd, func(ctx context.Context, api *client.Client) error {
			return judge(
				func(source *messagefile.Source, c *collector) error { return p.submitOverAPI(ctx, api, source, c, f) },
				func(source *messagefile.Source, c *collector) error {
					return p.dryRunOverAPI(ctx, api, source, c, f, rules)
				},
			)
		})
	}
	return p.withSession(ctx, settings, func(s *session) error {
		if err := p.inspect(ctx, s); err != nil {
			return err
		}
		return judge(
			func(source *messagefile.Source, c *collector) error { return p.submitAll(ctx, s, source, c, f) },
			func(source *messagefile.Source, c *collector) error { return p.dryRun(ctx, s, source, c, f, rules) },
		)
	})
}

// check returns the options for reading the file, or a *fault.InvalidError for an invalid flag or
// combination.
func (f bulkFlags) check() (input.Options, error) {
	options, err := f.options()
	if err != nil {
		return options, err
	}
	options.FilledIn = f.filledIn()
	switch {
	case f.fromLine < 1:
		return options, fault.Wrong("from-line", "--from-line %d: the first line is 1", f.fromLine)
	case f.sent && f.dryRun:
		return options, fault.Wrong("dry-run", "--dry-run and --record-sent exclude each other: recorded messages are not judged")
	case len(f.whatIf) > 0 && !f.dryRun:
		return options, fault.Wrong("what-if", "--what-if requires --dry-run: submits use the store's rules")
	case f.policyGiven && !f.dryRun:
		return options, fault.Wrong("what-if-policy", "--what-if-policy requires --dry-run: submits use the store's rules")
	case f.policyGiven && f.whatIfPolicy == "":
		return options, fault.Wrong("what-if-policy", "--what-if-policy requires the name of a file")
	case f.whatIfPolicy == standard && f.file == standard:
		return options, fault.Wrong("what-if-policy", "--what-if-policy can't be standard input, which has the messages: name a file")
	default:
		return options, nil
	}
}

// judge submits a message, or judges it in a dry run.
type judge = func(ctx context.Context, m message.Message) (message.Outcome, error)

// leanJudge returns the judge of the lines. Without --results nobody reads the free times of
// refusals, so it omits them.
func (f bulkFlags) leanJudge(by judge) judge {
	if f.results != "" {
		return by
	}
	return func(ctx context.Context, m message.Message) (message.Outcome, error) {
		m.WithoutFreeTimes = true
		return by(ctx, m)
	}
}

// together is leanJudge for a user's lines in one call.
func (f bulkFlags) together(by bulk.JudgeMany) bulk.JudgeMany {
	return func(ctx context.Context, ms []message.Message) ([]message.Outcome, error) {
		for i := range ms {
			ms[i].WithoutFreeTimes = f.results == ""
		}
		return by(ctx, ms)
	}
}

// openRecords reads the beginning of a file. It stops waiting for input when ctx ends.
func openRecords(ctx context.Context, file io.Reader, trusted bool, o input.Options) (*input.Reader, error) {
	type opened struct {
		records *input.Reader
		err     error
	}
	ready := make(chan opened, 1)
	go func() {
		text, err := messagefile.Unzip(file, trusted)
		if err != nil {
			ready <- opened{nil, err}
			return
		}
		records, err := input.NewReader(text, o)
		ready <- opened{records, err}
	}()
	select {
	case o := <-ready:
		return o.records, o.err
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the first line: %w", ctx.Err())
	}
}

// inspect checks the store before many messages are submitted.
func (p *program) inspect(ctx context.Context, s *session) error {
	report, err := store.Inspect(ctx, s.client)
	if err != nil {
		return err
	}
	for _, warning := range report.Warnings {
		if err := p.Tell("warning: %s\n", warning); err != nil {
			return err
		}
	}
	return report.RefuseEviction()
}

// submitAll submits the lines of the source and prints the summary.
func (p *program) submitAll(ctx context.Context, s *session, source *messagefile.Source, c *collector, f bulkFlags) error {
	judge, options := s.submitter.Submit, bulk.Options{Many: f.together(s.submitter.SubmitMany), Together: submit.MaxMany}
	if f.sent {
		judge, options = s.submitter.RecordSent, bulk.Options{}
	}
	started := p.now()
	traced, end := s.backend.Tracer.Batch(ctx)
	defer end()
	stopped := bulk.Run(traced, c.progress.reading(source.Next), f.leanJudge(judge), c, options)
	c.summary.Finish(p.now().Sub(started), source.Trimmed())
	return p.sumUp(s.diagnosing(ctx), c, f, stopped, c.close())
}
