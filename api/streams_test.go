package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// opens begins a batch with a line. The key "" is none.
func (r *rig) opens(key, line string) *talk {
	r.Helper()
	return talkTo(r, r.http, r.url+batchPath, key, line)
}

// submitter creates an account with a tier, and returns a key that submits for it.
func (r *rig) submitter(name string, tier accounts.Tier) string {
	r.Helper()
	tier.Name = name
	require.NoError(r, r.accounts.SetTier(r.Context(), tier))
	_, err := r.accounts.Create(r.Context(), accounts.Account{Name: name, Tier: name})
	require.NoError(r, err)
	return r.key(name, accounts.ScopeSubmit)
}

const junkLine = "junk\n"

// Idle batches of one account, which send a line of junk now and then, keep nobody else
// out.
func TestOneAccountCanNotTakeAllStreams(t *testing.T) {
	t.Parallel()
	for name, keyed := range map[string]bool{"an account": true, "callers without a key": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			key := ""
			if keyed {
				key = r.submitter("busy", accounts.Tier{})
			}
			var open []*talk
			for range api.DefaultStreams / 4 {
				b := r.opens(key, junkLine)
				require.Equal(t, http.StatusOK, b.reply.status)
				open = append(open, b)
			}
			more := request{method: http.MethodPost, target: batchPath, body: junkLine, header: http.Header{"Content-Type": {"application/x-ndjson"}}}
			if keyed {
				more.use(key)
			}
			for range 2 * api.DefaultStreams { // a refusal takes no place
				got := r.send(more)
				require.Equal(t, "5", got.header.Get("Retry-After"))
				p := r.problem(http.StatusTooManyRequests, got)
				require.Equal(t, fault.CodeRateLimited, p.Code)
				require.Contains(t, p.Detail, " 8 streams running (batches, dry runs, refits, exports, erasures and work on campaigns), and no more are allowed")
			}

			other := r.opens(r.submitter("other", accounts.Tier{}), `{"user":"u","send_at":"now","title":"t"}`+"\n")
			require.Equal(t, http.StatusOK, other.reply.status)
			require.Equal(t, message.Accepted, other.hear().Outcome)

			// A batch that ends gives its share back.
			require.NoError(t, open[0].lines.Close())
			require.Equal(t, message.Invalid, open[0].hear().Outcome)
			_, err := open[0].answers.ReadByte()
			require.ErrorIs(t, err, io.EOF)
			require.Eventually(t, func() bool { return r.send(more).status == http.StatusOK }, waitFor, 10*time.Millisecond)
		})
	}
}

// Removing a key ends its streams. Streams of the account's other keys continue.
func TestARemovedKeyEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *api.Options) { o.Limits.LookAgain = time.Millisecond })
	key, other := r.key("own", accounts.ScopeSubmit, accounts.ScopeRead), r.key("own", accounts.ScopeSubmit)
	ends, stays, events := r.opens(key, junkLine), r.opens(other, junkLine), r.follows(t, key, "", "")
	require.Equal(t, message.Invalid, ends.hear().Outcome)
	_, err := r.accounts.RemoveKey(t.Context(), "own", key[3:11], nil)
	require.NoError(t, err)
	require.Equal(t, message.Outcome{
		Outcome: message.Errored, Code: fault.CodeUnauthorized, Line: 2,
		Detail: "the key was removed or has expired, or its account is disabled: this answer ends here: go on with line 2",
	}, ends.hear())
	ends.ends()
	for range events.lines { // it ends
	}
	require.Equal(t, message.Invalid, stays.hear().Outcome)
	stays.say(junkLine)
	require.Equal(t, message.Invalid, stays.hear().Outcome)
}

func TestABatchOfJunkEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := `{"user":"u","send_at":"now","title":"t"}` + "\n"
	invalid := "{}\n"
	// Other lines in between begin the count again, whatever they say.
	b := r.opens("", good+strings.Repeat(junkLine, 99)+invalid+strings.Repeat(junkLine, 99)+good+strings.Repeat("[]\n", 100))
	require.Equal(t, http.StatusOK, b.reply.status)
	require.Equal(t, message.Accepted, b.hear().Outcome)
	for n := 2; n <= 1+99+1+99+1+100; n++ {
		o := b.hear()
		require.Equal(t, n, o.Line)
		if n != 201 {
			require.Equal(t, message.Invalid, o.Outcome)
		}
	}
	require.Equal(t, message.Outcome{
		Outcome: message.Errored, Code: fault.CodeInvalidField, Field: "body", Line: 302,
		Detail: "100 lines in a row are no JSON objects: send one message a line, as NDJSON: go on with line 302",
	}, b.hear())
	_, err := b.answers.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

// Junk does not keep an idle batch open; messages do.
func TestJunkKeepsNoBatchOpen(t *testing.T) {
	t.Parallel()
	const idle = time.Second
	r := newRig(t, func(o *api.Options) { o.Limits.Idle = idle })
	b := r.opens("", "{}\n")
	require.Equal(t, message.Invalid, b.hear().Outcome)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(idle / 5):
				_, _ = io.WriteString(b.lines, junkLine)
			}
		}
	}()
	var last message.Outcome
	for last = b.hear(); last.Outcome == message.Invalid; last = b.hear() {
		require.Less(t, last.Line, 50)
	}
	close(stop)
	_ = b.lines.CloseWithError(io.ErrClosedPipe)
	<-ended
	require.Equal(t, message.Errored, last.Outcome)
	require.Equal(t, fault.CodeUnavailable, last.Code)
	require.Regexp(t, `^no JSON object came within 1s, and \d lines that are none: go on with line \d$`, last.Detail)
}

// A batch waits for the lines of its account, whatever they are, and all batches of the
// account share them.
func TestLinesPerMinute(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t)
	const line = "{}\n"
	key := r.submitter("slow", accounts.Tier{LinesPerMinute: 60})
	first, second := r.opens(key, strings.Repeat(line, 59)), r.opens(key, line)
	for range 59 {
		require.Equal(t, message.Invalid, first.hear().Outcome)
	}
	require.Equal(t, message.Invalid, second.hear().Outcome)

	// The bucket is empty. This line waits until the store's clock has gone on.
	heard := make(chan message.Outcome, 1)
	first.say(line)
	go func() { heard <- first.hear() }()
	select {
	case o := <-heard:
		require.Fail(t, "the line did not wait", "%+v", o)
	case <-time.After(300 * time.Millisecond):
	}
	r.store.SetTime(now().Add(time.Second))
	require.Equal(t, message.Invalid, (<-heard).Outcome)

	// Another account does not wait.
	other := r.opens(r.submitter("other", accounts.Tier{LinesPerMinute: 60}), line)
	require.Equal(t, message.Invalid, other.hear().Outcome)

	// Without a limit nobody does. A batch follows a change within a second.
	require.NoError(t, r.accounts.SetTier(t.Context(), accounts.Tier{Name: "slow"}))
	first.say(line)
	require.Equal(t, message.Invalid, first.hear().Outcome)
}

// A batch that would wait for long leaves its place, and says when to come back.
func TestABatchDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := r.submitter("slow", accounts.Tier{LinesPerMinute: 2})
	b := r.opens(key, "{}\n{}\n{}\n{}\n")
	require.Equal(t, message.Invalid, b.hear().Outcome)
	require.Equal(t, message.Invalid, b.hear().Outcome)
	require.Equal(t, message.Outcome{
		Outcome: message.Errored, Code: fault.CodeRateLimited, Line: 3, RetryAfterSeconds: 30,
		Detail: "the account's 2 lines per minute are used up: send the rest in 30 seconds: go on with line 3",
	}, b.hear())
	_, err := b.answers.ReadByte()
	require.ErrorIs(t, err, io.EOF)

	none := r.opens(key, "{}\n")
	require.Equal(t, http.StatusTooManyRequests, none.reply.status)
	require.Equal(t, "30", none.reply.header.Get("Retry-After"))
}

// Lines that were taken in advance and did not come are given back.
func TestLinesThatDidNotComeAreGivenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := r.submitter("fast", accounts.Tier{LinesPerMinute: 60_000})
	b := r.opens(key, "{}\n")
	require.Equal(t, message.Invalid, b.hear().Outcome)
	require.NoError(t, b.lines.Close())
	require.Eventually(t, func() bool {
		g, err := r.options.Charges.TakeLines(t.Context(), "fast", 60_000, 59_999)
		require.NoError(t, err)
		return g.Allowed
	}, waitFor, 10*time.Millisecond)
}

func TestABatchOfADisabledAccountEnds(t *testing.T) {
	t.Parallel()
	var c clock
	r := newRig(t, func(o *api.Options) { o.Now = c.now })
	b := r.opens(r.submitter("bad", accounts.Tier{}), "{}\n")
	require.Equal(t, message.Invalid, b.hear().Outcome)
	_, err := r.accounts.Set(t.Context(), "bad", accounts.Change{Disabled: new(true)})
	require.NoError(t, err)
	c.passes(time.Second)
	b.say("{}\n")
	require.Equal(t, message.Outcome{
		Outcome: message.Errored, Code: fault.CodeUnauthorized, Line: 2, Detail: "the account is disabled: go on with line 2",
	}, b.hear())
}
