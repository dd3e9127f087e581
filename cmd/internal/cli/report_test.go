package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

func TestStatusOfEveryCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[fault.Code]int{
		"": 0, "invalid_field": 2, "in_past": 2, "too_far_ahead": 2,
		"send_limit": 3, "id_reused": 3, "too_late": 3, "not_found": 4, "unavailable": 5,
		"one_of_a_newer_version": 1,
	} {
		require.Equal(t, want, cli.StatusOf(code), code)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	invalid := &fault.InvalidError{Field: "user"}
	for _, row := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("no luck"), 1},
		{context.Canceled, 1},
		{&cli.UsageError{}, 2},
		{fmt.Errorf("submitting: %w", invalid), 2},
		{&config.Error{Rejected: []*fault.InvalidError{invalid}}, 2},
		{cli.StatusError(3), 3},
		{fmt.Errorf("printed: %w", cli.StatusError(4)), 4},
		{store.Explain(context.DeadlineExceeded, "submitting"), 5},
	} {
		require.Equal(t, row.want, cli.ExitCode(row.err), "%v", row.err)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	user := &fault.InvalidError{Field: "user", Value: "a\x1b[2J", Want: "no <control> characters"}
	at := &fault.InvalidError{Field: "send_at", Value: "", Want: "a time"}
	for _, row := range []struct {
		err          error
		person, json string
		status       int
	}{
		{
			errors.New("no luck"),
			"error: no luck\n",
			`{"outcome":"error","detail":"no luck"}` + "\n", 1,
		},
		{
			fmt.Errorf("submitting: %w", user), // a terminal sees no control character
			`error: user "a\x1b[2J" is not allowed: use no <control> characters` + "\n",
			`{"outcome":"invalid","code":"invalid_field","field":"user","detail":"user \"a\\x1b[2J\" is not allowed: use no <control> characters"}` + "\n", 2,
		},
		{
			&config.Error{Rejected: []*fault.InvalidError{at, user}},
			"error: send_at \"\" is not allowed: use a time\n" +
				`error: user "a\x1b[2J" is not allowed: use no <control> characters` + "\n",
			`{"outcome":"invalid","code":"invalid_field","field":"send_at","detail":"send_at \"\" is not allowed: use a time"}` + "\n" +
				`{"outcome":"invalid","code":"invalid_field","field":"user","detail":"user \"a\\x1b[2J\" is not allowed: use no <control> characters"}` + "\n", 2,
		},
		{
			fmt.Errorf("replacing the policy: %w", fault.InvalidErrors{at, {Field: "user"}}),
			"error: send_at \"\" is not allowed: use a time\nerror: user \"\" is not allowed: use \n",
			`{"outcome":"invalid","code":"invalid_field","field":"send_at","detail":"send_at \"\" is not allowed: use a time"}` + "\n" +
				`{"outcome":"invalid","code":"invalid_field","field":"user","detail":"user \"\" is not allowed: use "}` + "\n", 2,
		},
		{
			fmt.Errorf("submitting: %w", &fault.UnavailableError{Detail: "no Redis; start one", Err: errors.New("refused")}),
			"error: no Redis; start one\n",
			`{"outcome":"error","code":"unavailable","detail":"no Redis; start one"}` + "\n", 5,
		},
		{
			&cli.UsageError{Detail: "unknown flag: --x; see sendlimit --help"},
			"error: unknown flag: --x; see sendlimit --help\n",
			`{"outcome":"invalid","code":"invalid_field","detail":"unknown flag: --x; see sendlimit --help"}` + "\n", 2,
		},
	} {
		var person, json strings.Builder
		require.Equal(t, cli.StatusError(row.status), cli.Report(&person, cli.Palette{}, cli.Names{}, row.err))
		require.Equal(t, row.person, person.String())
		require.Equal(t, cli.StatusError(row.status), cli.ReportJSON(&json, cli.Names{}, row.err))
		require.Equal(t, row.json, json.String())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestReportThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	err := &cli.UsageError{Detail: "unknown flag"}
	for _, failed := range []error{cli.Report(brokenWriter{}, cli.Palette{}, cli.Names{}, err), cli.ReportJSON(brokenWriter{}, cli.Names{}, err)} {
		require.ErrorIs(t, failed, os.ErrClosed)
		require.Equal(t, cli.StatusInvalid, cli.ExitCode(failed), "what went wrong first decides")
	}
}
