package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// ndjson is the media type of JSON lines, in a batch and in its answer.
const ndjson = "application/x-ndjson"

// jsonl is another media type that a batch may have.
const jsonl = "application/jsonl"

// Limits of what a batch processes at a time: about 10 MB.
const (
	batchLanes  = 16 // lines that are judged at a time, see also work
	batchWindow = 1024
)

// lingerWithin is how long the server keeps reading after an answer that ended early. If it closed
// the connection with unread data, the client could lose the end of the answer.
const lingerWithin = time.Second

var errStopping = errors.New("this server stops")

func (s *server) batchRoutes() []route {
	return []route{
		stream(s, route{
			Operation: named("submitBatch", http.MethodPost, "/v1/messages/batch", "messages",
				"Submit many messages",
				"Accepts any number of messages, one JSON object a line (NDJSON), and answers with each outcome while "+
					"it still reads. A user's messages are judged in the order of the lines. An invalid line gets the outcome "+
					"`invalid`, and the others continue; blank lines are skipped. Read the answers while you send lines, or the server "+
					"stops reading: it closes the connection to a client that reads no answers for "+s.Limits.Timeout.String()+". "+
					"A batch that sends no JSON object for "+s.Limits.Idle.String()+", or "+strconv.Itoa(maxJunk)+" other lines in a row, "+
					"ends: its last line is an outcome `error` with the reason, and the lines before it keep their outcomes. "+
					"It ends the same way, within a few seconds, if its key is removed. "+
					"If the account's tier has `lines_per_minute`, a faster batch waits for its lines. After 10 minutes of waiting, or if a line "+
					"would wait for more than 20 seconds, it ends with the code `rate_limited` and `retry_after_seconds`: "+
					"continue with a new batch then. An account may run only a share of all batches at a time, "+
					"and gets 429 for one more. "+
					"If messages have ids, the same batch can be sent again, and each message is accepted once. "+
					"A batch counts as one request of its account, and each line as one message: a line beyond the quota is "+
					"refused with quota_exceeded, and the others continue."),
			scope: accounts.ScopeSubmit, told: true, submits: true, once: true,
		}, s.batchAnswers("An outcome `error` is the last one. Its line was not judged: continue with that line."), s.submitBatch),
	}
}

// batchAnswers documents the outcomes of lines. ending explains an outcome `error`.
func (s *server) batchAnswers(ending string) func() map[string]*huma.Response {
	return s.linesOf("The outcome of each line in order, one JSON object a line; `line` is its number from 1. "+ending, schemaOf[message.Outcome])
}

type newBatch struct {
	WithoutFreeTimes bool `query:"without_free_times" doc:"true omits next_free_at and previous_free_at from refusals, which makes a batch with many refusals faster. Refusals of messages with on_conflict shift still have them."`
	Lines            messageLines
}

// messageLines is a body of lines of messages, read while it is answered.
type messageLines struct{}

func (messageLines) document(s *server, in *inputs) { in.lines(schemaOf[message.Draft](s)) }

func (messageLines) read(_ *server, r *http.Request) (none message.Faults, err error) {
	return none, web.CheckMediaType(r, ndjson, jsonl)
}

func (in *inputs) lines(line *huma.Schema) {
	in.body = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{ndjson: {Schema: line}, jsonl: {Schema: line}}}
	in.problems = append(in.problems, http.StatusRequestTimeout, http.StatusUnsupportedMediaType)
}

// submitBatch submits the messages of a request, one a line. It answers each line in order while it
// still reads the request, and stops reading while the client does not read its answers.
//
// It ignores the end of the request's context: a client that has sent everything may close its half
// of the connection, which ends the context. When a client is gone, reads and writes fail, which
// ends the batch.
func (s *server) submitBatch(w http.ResponseWriter, r *http.Request, in newBatch) {
	without := in.WithoutFreeTimes
	submitter := s.charging(r.Context())
	traced, end := s.Tracer.Batch(r.Context())
	defer end()
	judge := func(ctx context.Context, m message.Message) (message.Outcome, error) {
		m.WithoutFreeTimes = without
		o, err := submitter.Submit(ctx, m)
		if err != nil {
			return message.Outcome{}, err
		}
		return s.concealed(ctx, o)
	}
	many := func(ctx context.Context, ms []message.Message) ([]message.Outcome, error) {
		for i := range ms {
			ms[i].WithoutFreeTimes = without
		}
		outcomes, err := submitter.SubmitMany(ctx, ms)
		for i, o := range outcomes {
			var failed error
			if outcomes[i], failed = s.concealed(ctx, o); failed != nil {
				return outcomes[:i], failed
			}
		}
		return outcomes, err
	}
	s.openBatch(w, r).answer(traced, judge, many)
}

type batch struct {
	server  *server
	w       http.ResponseWriter
	r       *http.Request
	pace    *linePace
	lines   *lines
	next    func(context.Context) (bulk.Line, error) // of lines
	answers *answers
}

// openBatch begins to read a batch. Call answer, or refuse.
func (s *server) openBatch(w http.ResponseWriter, r *http.Request) *batch {
	control := http.NewResponseController(w)
	// Only the writer of HTTP/2 lacks this mode, and does not need it.
	_ = control.EnableFullDuplex()
	if r.ProtoMajor == 1 {
		// The unread rest of a request must not be read as the next request.
		w.Header().Set("Connection", "close")
	}
	pace := s.newLinePace(r.Context())
	lines := newLines(r.Body, control, s.Now, s.Limits.Idle, pace)
	return &batch{
		server: s, w: w, r: r, pace: pace, lines: lines, next: lines.next,
		answers: s.newAnswers(w, ndjson),
	}
}

// answer answers each line with the outcome of judge, or of many for several messages of a user.
// many may be nil.
func (b *batch) answer(ctx context.Context, judge bulk.Judge, many bulk.JudgeMany) {
	s := b.server
	asked := context.WithoutCancel(ctx)
	ctx, stop := context.WithCancelCause(asked)
	watched := s.endEarly(ctx, stop, b.answers.hurry)
	next := func() (bulk.Line, error) { return b.next(ctx) }
	o := bulk.Options{Lanes: batchLanes, Window: batchWindow, Together: submit.MaxMany}
	of := callerOf(ctx).holder()
	if many != nil {
		o.Many = lineByLine(s.work, of, recovering(many))
	}
	err := bulk.Run(ctx, next, lineByLine(s.work, of, recovering(judge)), b.answers, o)
	if errors.Is(err, context.Canceled) {
		err = errors.Join(err, context.Cause(ctx))
	}
	stop(nil)
	watched()
	s.endBatch(b.w, b.r, b.lines, b.answers, err)
	b.pace.end(asked) // no line is being read any more
}

// refuse answers a batch without judging a line.
func (b *batch) refuse(err error) {
	b.server.writeError(b.w, b.r, err)
	_ = http.NewResponseController(b.w).Flush()
	b.lines.end(lingerWithin)
}

// recovering returns a judge that runs in goroutines of a batch, so it recovers panics
// itself.
func recovering[Asked, Answer any](
	judge func(context.Context, Asked) (Answer, error),
) func(context.Context, Asked) (Answer, error) {
	return func(ctx context.Context, asked Asked) (answer Answer, err error) {
		defer func() {
			if reason := recover(); reason != nil {
				err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
			}
		}()
		return judge(ctx, asked)
	}
}

// endBatch ends the answer. If not every line was judged, it reports why: in a last line, or in the
// status if no line was answered yet.
func (s *server) endBatch(w http.ResponseWriter, r *http.Request, lines *lines, answers *answers, err error) {
	stopped, early := errors.AsType[*bulk.StoppedError](err)
	_, gone := errors.AsType[*answerError](err)
	switch {
	case !early:
		answers.end()
		return
	case gone:
		lines.end(0)
		return
	}
	why := s.whyStopped(r.Context(), lines, stopped, err)
	if answers.begun() {
		_ = answers.Emit(why.Outcome) // a client that is gone needs no answer
		_ = answers.Flush()
	} else {
		s.writeError(w, r, why)
		_ = http.NewResponseController(w).Flush()
	}
	lines.end(lingerWithin)
}

// whyStopped returns the answer to a batch that stopped early.
func (s *server) whyStopped(ctx context.Context, lines *lines, stopped *bulk.StoppedError, err error) *web.Error {
	why := &web.Error{Status: http.StatusServiceUnavailable, Outcome: message.Outcome{Code: fault.CodeUnavailable}}
	broken, unreadable := errors.AsType[*bodyError](err)
	refused, ended := errors.AsType[*web.Error](err)
	switch {
	case errors.Is(err, errStopping):
		why.Outcome.Detail = errStopping.Error()
	case ended: // the key
		*why = *refused
	case unreadable:
		*why = *lines.unread(broken.cause)
	default:
		why.Outcome = s.outcomeOf(ctx, stopped.Err)
		why.Status = web.KindOf(why.Outcome.Code).Status
		if wait := why.Outcome.RetryAfterSeconds; wait > 0 {
			why.Header = http.Header{"Retry-After": {strconv.FormatInt(wait, 10)}}
		}
	}
	// Whatever the code, this is not the outcome of a line.
	why.Outcome.Outcome, why.Outcome.Line = message.Errored, stopped.Line
	if lines.most == 0 { // a dry run begins anew
		why.Outcome.Detail += fmt.Sprintf(": go on with line %d", stopped.Line)
	}
	return why
}
