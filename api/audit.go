package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// endWithin bounds how long the end of a change may take to be logged.
const endWithin = 5 * time.Second

// audited returns a handler that logs the changes of operators: who, what, and what came of it.
// A change that can't be logged is not done. An operator's are those of a route for operators,
// and all that a Hand makes. What accounts submit, move and cancel has
// its history and its events instead.
func (s *server) audited(next http.HandlerFunc, rt route) http.HandlerFunc {
	if rt.Method == http.MethodGet || rt.looks {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if who := callerOf(ctx); rt.scope != accounts.ScopeAdmin && !who.hand {
			next(w, r)
			return
		}
		e, err := s.audit.Begin(ctx, s.entry(rt, r))
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		// A change that panics stays under way: nobody knows whether it was made.
		next(w, r)
		s.endEntry(ctx, e)
	}
}

// entry returns the entry of the audit log for a change. It says nothing of a user who is erased.
func (s *server) entry(rt route, r *http.Request) audit.Entry {
	who := callerOf(r.Context())
	e := audit.Entry{
		Account: who.account(), Key: who.identity.Key.ID, By: who.by, Operator: who.may(accounts.ScopeAdmin),
		Action: actionOf(rt.OperationID), User: r.PathValue("user"), Message: r.PathValue("id"),
	}
	if from := s.client(r); from.IsValid() {
		e.Address = from.String()
	}
	var names []string // from the outer to the inner: an account and its key
	for _, p := range rt.Parameters {
		if p.In == "path" && p.Name != "user" && p.Name != "id" {
			names = append(names, r.PathValue(p.Name))
		}
	}
	e.Object = strings.Join(names, " ")
	if strings.HasPrefix(rt.Path, callbackPattern) {
		e.Owner = r.PathValue("account")
	}
	given := bodyOf(r)
	if user, some := given["user"].(string); some && e.User == "" { // of a message that is submitted
		e.User = user
		e.Message, _ = given["id"].(string)
		delete(given, "id")
	}
	if rt.erases {
		e.User = ""
	}
	details := append(queryDetails(rt, r), bodyDetails(given)...)
	if who.note != "" {
		details = append(details, who.note)
	}
	e.Detail = strings.Join(details, "; ")
	return e
}

// actionOf returns the words of an operation: "apply policy" of applyPolicy.
func actionOf(operation string) string {
	var words strings.Builder
	for _, c := range operation {
		if unicode.IsUpper(c) {
			words.WriteByte(' ')
		}
		words.WriteRune(unicode.ToLower(c))
	}
	return words.String()
}

// queryDetails returns the parameters of a change.
func queryDetails(rt route, r *http.Request) []string {
	var details []string
	given := r.URL.Query()
	for _, p := range rt.Parameters {
		if p.In == "query" && given.Has(p.Name) {
			details = append(details, detailName(p.Name)+" "+web.Printable(given.Get(p.Name)))
		}
	}
	return details
}

// bodyOf returns the members of a body, without reading it for others. There are none if it is no
// JSON object or too long, of which the operation tells.
func bodyOf(r *http.Request) map[string]any {
	ahead, may := r.Body.(*body)
	if !may || r.Header.Get("Content-Type") == ndjson {
		return nil
	}
	text, whole := ahead.Ahead()
	var given map[string]any
	if !whole || json.Unmarshal(text, &given) != nil {
		return nil
	}
	return given
}

// bodyDetails returns what a change says. Of secrets, addresses and contacts it says only that
// they are given, and of contents nothing.
func bodyDetails(given map[string]any) []string {
	var details []string
	for _, member := range loggedMembers() {
		if value, some := given[member]; some {
			details = append(details, detailOf(member, value))
		}
	}
	for _, member := range []string{"contact", "alert_to", "token", "subscription", "secret"} {
		if value, some := given[member]; some {
			name := detailName(member)
			details = append(details, map[bool]string{true: "with " + name, false: "no " + name}[inWords(member, value) != ""])
		}
	}
	return details
}

// loggedMembers are the members of requests that the audit log shows, in its order.
func loggedMembers() []string {
	return []string{
		"name", "id", "device", "channel", "app", "campaign", "send_at", "expires_at", "by", "on_conflict", "preview",
		"version", "rules", "categories", "quiet_hours", "only", "blackouts", "calendars", "time_zone", "report_at", "reach", "account_share", "changes",
		"policy", "limits", "opt_out", "blocked", "tier", "scopes", "disabled", "overlap", "url",
		"requests_per_minute", "requests_per_day", "lines_per_minute", "messages_per_hour", "messages_per_day", "devices",
		"per_minute", "per_hour", "per_day", "alert_at", "custom", "rate", "burst",
	}
}

func detailName(member string) string { return strings.ReplaceAll(member, "_", " ") }

// detailOf returns a member of a change in words.
func detailOf(member string, value any) string {
	name := detailName(member)
	if yes, is := value.(bool); is {
		return map[bool]string{true: name, false: "not " + name}[yes]
	}
	if text := inWords(member, value); text != "" {
		return name + " " + text
	}
	return "no " + name
}

// inWords returns a value of a body: of an object its names, of a URL its host. "" is for none.
func inWords(member string, value any) string {
	var all []string
	switch v := value.(type) {
	case nil:
	case string:
		if member == "url" {
			return callbacks.Host(v)
		}
		return web.Printable(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		for _, one := range v {
			all = append(all, inWords(member, one))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, web.Printable(name))
		}
	}
	return strings.Join(all, ", ")
}

// endEntry logs what came of a change.
func (s *server) endEntry(ctx context.Context, e audit.Entry) {
	outcome, code, answer := audit.Done, "", ""
	if failed := exchangeOf(ctx).failed; failed != nil {
		outcome, code, answer = audit.Refused, string(failed.Code), failed.Detail
		if failed.Outcome == message.Errored {
			outcome = audit.Failed
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	if err := s.audit.End(end, e, outcome, code, answer); err != nil {
		s.logger.WarnContext(ctx, "an entry of the audit log stays without its outcome", "entry", e.ID, "outcome", outcome, "error", err)
	}
}
