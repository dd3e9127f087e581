package api

import (
	"cmp"
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
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
)

// endWithin bounds the time to log the end of a change.
const endWithin = 5 * time.Second

// audited returns a handler that logs the changes of operators: the caller, the change and its
// outcome. A change that can't be logged is not made. Changes through routes for operators are
// logged, and all changes of a Hand. The submits, moves and cancels of accounts and commands are in
// the history and events of their messages instead. A dry run changes nothing, and is not logged.
func (s *server) audited(next http.HandlerFunc, rt route) http.HandlerFunc {
	if (rt.Method == http.MethodGet || rt.looks) && !rt.reveals {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if !callerOf(ctx).leavesEntry(rt) {
			next(w, r)
			return
		}
		given, whole := bodyOf(rt, r)
		private := hasPrivate(given)
		if !whole || given["dry_run"] == true { // it is refused, or changes nothing
			next(w, r)
			return
		}
		e, err := s.Audit.Begin(ctx, s.entry(rt, r, given))
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		// A change that panics stays under way in the log: it may or may not have been made.
		next(w, r)
		s.endEntry(ctx, rt, e, private)
	}
}

// leavesEntry reports whether a change of the caller is logged. A command may register a million
// devices, so of its changes that are not only for operators, only the first is logged.
func (c caller) leavesEntry(rt route) bool {
	switch {
	case rt.scope == accounts.ScopeAdmin:
		return true
	case rt.reveals:
		return c.hand || !c.confined()
	case c.first == nil:
		return c.hand
	default:
		return !rt.told && c.first.CompareAndSwap(false, true)
	}
}

// entry returns the entry of the audit log for a change. It does not name a user who is erased.
func (s *server) entry(rt route, r *http.Request, given map[string]any) audit.Entry {
	who := callerOf(r.Context())
	e := audit.Entry{
		Account: who.account(), Key: who.identity.Key.ID, By: who.by, Operator: who.may(accounts.ScopeAdmin),
		Action: actionOf(rt.OperationID), User: cmp.Or(r.PathValue("user"), r.URL.Query().Get("user")), Message: r.PathValue("id"),
	}
	if from := ClientOf(r, s.TrustedProxies); from.IsValid() {
		e.Address = from.String()
	}
	var details []string
	for _, f := range rt.in.fields {
		switch value := r.PathValue(f.path); {
		case f.path == "" || f.path == "user" || f.path == "id":
		case e.Object == "":
			e.Object = value
		default: // what is inside, such as an account's key
			details = append(details, detailName(f.path)+" "+web.Printable(value))
		}
	}
	if strings.HasPrefix(rt.Path, callbackPattern) {
		e.Owner = r.PathValue("account")
	}
	if user, some := given["user"].(string); some && e.User == "" { // of a message that is submitted
		e.User = user
		e.Message, _ = given["id"].(string)
		delete(given, "id")
	}
	for _, named := range []string{"name", "id"} { // of what is made
		if name, some := given[named].(string); some && (e.Object == "" || e.Object == name) {
			e.Object = name
			delete(given, named)
		}
	}
	if rt.erases {
		e.User = ""
	}
	details = slices.Concat(details, queryDetails(rt, r), bodyDetails(given, rt.Method == http.MethodPatch))
	if who.note != "" {
		details = append(details, who.note)
	}
	e.Detail = strings.Join(details, "; ")
	return e
}

// actionOf returns the name of an operation in words: "apply policy" for applyPolicy.
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
	for _, name := range rt.in.parameterNames() {
		if value := given.Get(name); name != "user" && name != "cursor" && value != "" {
			details = append(details, detailName(name)+" "+web.Printable(value))
		}
	}
	return details
}

// bodyOf returns the members of a body, and leaves the body to be read by the operation. It returns
// none if the body is not a JSON object or too long; the operation reports that. whole is false if
// reading the body failed.
func bodyOf(rt route, r *http.Request) (given map[string]any, whole bool) {
	ahead, may := r.Body.(*body)
	if !may || !rt.in.json {
		return nil, true
	}
	text, whole := ahead.Ahead()
	if !whole {
		return nil, ahead.err == nil
	}
	_ = json.Unmarshal(text, &given) // the operation tells
	return given, true
}

// hasPrivate reports whether a body has a member whose value the log does not show.
func hasPrivate(given map[string]any) bool {
	shown := append(loggedMembers(), "id", "user")
	for member := range given {
		if !slices.Contains(shown, member) || slices.Contains([]string{"contact", "alert_to", "url"}, member) {
			return true
		}
	}
	return false
}

// bodyDetails returns the details of a change. It shows that a contact is given, but not which, and
// nothing of secrets and contents. For a patch it also lists empty members.
func bodyDetails(given map[string]any, patches bool) []string {
	var details []string
	for _, member := range loggedMembers() {
		value, some := given[member]
		name, text := detailName(member), inWords(member, value)
		switch {
		case !some, text == "" && !patches:
		case text == "":
			details = append(details, map[bool]string{true: "not ", false: "no "}[value == false]+name)
		case member == "contact", member == "alert_to", member == "best_hours":
			details = append(details, "with "+name)
		case value == true:
			details = append(details, name)
		default:
			details = append(details, name+" "+text)
		}
	}
	return details
}

// loggedMembers are the members of requests that the audit log shows, in its order.
func loggedMembers() []string {
	return []string{
		"name", "channel", "app", "campaign", "send_at", "expires_at", "by", "dry_run", "then",
		"version", "rules", "categories", "quiet_hours", "only", "blackouts", "calendars", "time_zone", "report_at", "reach", "shift_spread", "account_share", "changes",
		"policy", "limits", "opt_out", "do_not_disturb_until", "best_hours", "blocked", "tier", "scopes", "disabled", "overlap", "url",
		"requests_per_minute", "requests_per_day", "lines_per_minute", "messages_per_hour", "messages_per_day", "devices",
		"per_minute", "per_hour", "per_day", "alert_at", "custom", "rate", "burst", "reason", "on_conflict", "contact", "alert_to",
	}
}

func detailName(member string) string {
	if member == "url" {
		return "to"
	}
	return strings.ReplaceAll(member, "_", " ")
}

// inWords returns a value of a body as text, only the host for a URL, and "" if there is none.
func inWords(member string, value any) string {
	var all []string
	switch v := value.(type) {
	case bool:
		return map[bool]string{true: "yes"}[v]
	case string:
		if member == "url" {
			return callbacks.Host(v)
		}
		return web.Printable(v)
	case float64:
		if v != 0 {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	case []any:
		for _, one := range v {
			all = append(all, inWords(member, one))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text := web.Printable(name)
			if list, is := v[name].([]any); is {
				text += " " + inWords(member, list)
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

func (s *server) endEntry(ctx context.Context, rt route, e audit.Entry, private bool) {
	outcome, code, answer := audit.Done, "", ""
	if failed := exchangeOf(ctx).failed; failed != nil {
		outcome, code, answer = audit.Refused, string(failed.Code), failed.Detail
		switch {
		case rt.erases: // it may name the user
			answer = ""
		case private && failed.Code == fault.CodeInvalidField: // it quotes what was given
			answer = failed.Field + " is not allowed"
		}
		if failed.Outcome == message.Errored {
			outcome = audit.Failed
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	if err := s.Audit.End(end, e, outcome, code, answer); err != nil {
		s.Logger.WarnContext(ctx, "an entry of the audit log stays without its outcome", "entry", e.ID, "outcome", outcome, "error", err)
	}
}
