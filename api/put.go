package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

func (s *server) putRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("putMessage", http.MethodPut, messagePattern, "messages",
				"Create or replace a message",
				"Creates a message, or replaces the pending one with this id: content, category, campaign, time and expiry. The body is that of submitMessage; "+
					"its user and id, if given, are those of the path. The new message is judged without the place of the former one. "+
					"If it is refused, nothing changes. A message that is being sent, has reached a device, may have arrived or was delivered is not replaced (too_late). "+
					"An id that submitMessage may use again is created. The same request again is answered with replayed, and counts nothing, unless moveMessage has "+
					"changed the message since. With a send time or a former one within the worker's horizon it counts as a move (moves_per_minute)."),
			scope: accounts.ScopeSubmit, submits: true, told: true, says: "Created: the message is stored, and sent at send_at.",
			refuses: []int{http.StatusConflict},
		}, s.put),
	}
}

// putMessage is a message with its place in the path.
type putMessage struct {
	ofMessage

	If      existence
	Message putBody
}

// putBody is the message of a request with the id in its path.
type putBody struct{ messageBody }

func (*putBody) document(s *server, in *inputs) {
	new(object[message.Draft]).document(s, in)
	in.body = jsonBodyOf(&huma.Schema{Ref: schemasPath + putDraftSchema})
	draft := copied(s.schemas.Map()["Draft"])
	draft.Required = slices.DeleteFunc(slices.Clone(draft.Required), func(member string) bool { return member == "user" })
	s.schemas.Map()[putDraftSchema] = draft
}

// putDraftSchema is the schema of a message whose user and id are in the path.
const putDraftSchema = "PutDraft"

// takePath sets the draft's user and id from the path, if they are there.
func takePath(d *message.Draft, r *http.Request) error {
	for _, of := range []struct {
		name   string
		member *string
	}{{"user", &d.User}, {"id", &d.ID}} {
		inPath := r.PathValue(of.name)
		if inPath == "" {
			continue
		}
		if *of.member != "" && *of.member != inPath {
			return fault.Wrong(of.name, "%s %q is not that of the path, %q: leave it out", of.name, fault.Clip(*of.member), fault.Clip(inPath))
		}
		*of.member = inPath
	}
	return nil
}

// existence says whether a message must have the id.
type existence struct{ when submit.PutIf }

func (e *existence) read(_ *server, r *http.Request) (none message.Faults, err error) {
	wanted, err := web.PreconditionOf(r.Header)
	switch {
	case err != nil || len(wanted) == 0:
	case wanted.Existing():
		e.when = submit.PutIfReplaces
	case r.Header.Get("If-Match") != "":
		err = web.HeaderError("If-Match", r.Header.Values("If-Match"), "*: a message has no version")
	default:
		e.when = submit.PutIfNone
	}
	return none, err
}

func (*existence) document(_ *server, in *inputs) {
	text := &huma.Schema{Type: huma.TypeString}
	in.parameters = append(in.parameters,
		&huma.Param{Name: "If-Match", In: "header", Example: "*", Schema: text, Description: "* only replaces a pending message."},
		&huma.Param{Name: "If-None-Match", In: "header", Example: "*", Schema: text, Description: "* only creates a message."})
	in.problems = append(in.problems, http.StatusPreconditionFailed)
}

// puts is the answer to a put: 201 if a message was created.
type puts struct{ submitted }

func (o *puts) answer() web.Answer { return o.submitted.answer() }

func (o *puts) document(s *server, rt route) map[string]*huma.Response {
	all := o.submitted.document(s, rt)
	all[strconv.Itoa(http.StatusOK)].Description = "Replaced, or a repetition: the same request gets its first answer again."
	return all
}

func (s *server) put(ctx context.Context, in putMessage) (puts, error) {
	o, err := s.judge(ctx, newMessage{in.Message.messageBody}, func(ctx context.Context, m message.Message) (message.Outcome, error) {
		return s.Submitter.Put(ctx, m, in.If.when)
	})
	return puts{submitted(o)}, err
}
