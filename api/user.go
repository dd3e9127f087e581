package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// The default and the largest number of entries of a page.
const (
	usualPage   = 100
	largestPage = 1000
)

func (s *server) listRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listMessages", Method: http.MethodGet, Path: "/v1/users/{user}/messages", Tags: []string{"users"},
			Summary: "List a user's messages",
			Description: "By send time, with their statuses. The list has scheduled messages, late ones included, and sent messages as " +
				"long as a rule can still count them. Cancelled, dropped and failed messages are listed at their planned " +
				"send time as long as their records are kept. A key without the scope admin lists only the messages of its " +
				"account. " + operatorsMetadata,
			Parameters: []*huma.Param{
				userParameter(),
				timeParameter("from", "First send time; by default the oldest that is kept."),
				timeParameter("to", "Send time to stop before; by default the end of the list."),
				countParameter("limit", "Messages a page.", usualPage, largestPage), cursorParameter(),
				{
					Name: "titles", In: "query", Schema: &huma.Schema{Type: huma.TypeBoolean, Default: false},
					Description: "true adds the titles of the messages whose content the key may see.",
				},
			},
			Responses: responses[message.Messages](s, "A page of them."),
		},
		scope: accounts.ScopeRead, do: s.list,
	}
}

func (s *server) list(r *http.Request, q web.Query) (web.Answer, error) {
	request := sendlimit.ListRequest{User: r.PathValue("user")}
	if err := s.interval(q, &request.From, &request.To); err != nil {
		return web.Answer{}, err
	}
	limit, err := q.Count("limit", usualPage, largestPage)
	if err != nil {
		return web.Answer{}, err
	}
	titles, err := q.Flag("titles")
	if err != nil {
		return web.Answer{}, err
	}
	after, err := q.Cursor(false)
	if err != nil {
		return web.Answer{}, err
	}
	if after != (web.Cursor{}) {
		request.After = keyspace.Reservation{ID: after.ID, At: after.Time()}
	}
	request.Limit = limit + 1 // the one that says that there are more
	statuses, err := s.reaching(r.Context()).List(r.Context(), request)
	if err != nil {
		return web.Answer{}, err
	}
	page := message.Messages{Messages: []message.Status{}}
	if len(statuses) > limit {
		statuses = statuses[:limit]
		last := statuses[limit-1]
		page.NextCursor = s.sealed(r.Context(), web.Cursor{Milliseconds: last.SendAt.UnixMilli(), ID: last.ID}.String())
	}
	if titles {
		if err := s.addTitles(r.Context(), request.User, statuses); err != nil {
			return web.Answer{}, err
		}
	}
	for _, status := range statuses {
		page.Messages = append(page.Messages, s.shown(r.Context(), status))
	}
	return web.Done(page), nil
}

// addTitles sets the titles of a user's messages whose content the caller may see.
func (s *server) addTitles(ctx context.Context, user string, statuses []message.Status) error {
	var ids []string
	for _, m := range statuses {
		if callerOf(ctx).sees(m.Account) {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	read, err := s.reaching(ctx).Messages(ctx, user, ids...)
	if err != nil {
		return err
	}
	titles := make(map[string]string, len(ids))
	for i, m := range read {
		titles[ids[i]] = m.Title
	}
	for i := range statuses {
		statuses[i].Title = titles[statuses[i].ID]
	}
	return nil
}

// interval reads the parameters from and to. A parameter that is not given leaves its time
// as it is.
func (s *server) interval(q web.Query, from, to *time.Time) error {
	for name, into := range map[string]*time.Time{"from": from, "to": to} {
		at, err := q.Time(name, s.present())
		if err != nil {
			return err
		}
		if !at.IsZero() {
			*into = at
		}
	}
	return nil
}

// present returns the local time with the precision of outcomes.
func (s *server) present() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

func (s *server) usageRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getUsage", Method: http.MethodGet, Path: "/v1/users/{user}/usage", Tags: []string{"users"},
			Summary: "See how full a user's rules are, and which times are free",
			Description: "For a sliding rule this is the fullest window that contains the time, for a calendar rule the period that " +
				"contains it. Sent and scheduled messages both count. Quiet hours are not free. Messages of other accounts " +
				"have no ids. If there are more than 10,000 sends, only the first are listed and more is true.",
			Parameters: []*huma.Param{
				userParameter(),
				timeParameter("at", "Time to look at; by default now."),
				timeParameter("from", "First time of the timeline; by default 12 hours before at."),
				timeParameter("to", "Where the timeline ends, up to 32 days later; by default 12 hours after at."),
				categoryParameter("Includes the rules of this category, and the times that are free for its messages."),
			},
			Responses: responses[message.Usage](s, "How full they are."),
		},
		scope: accounts.ScopeRead, do: s.usage,
	}
}

func (s *server) usage(r *http.Request, q web.Query) (web.Answer, error) {
	request := sendlimit.UsageRequest{User: r.PathValue("user")}
	var err error
	if request.At, err = q.Time("at", time.Time{}); err != nil {
		return web.Answer{}, err
	}
	middle := request.At
	if middle.IsZero() {
		middle = s.present()
	}
	if request.Category, err = q.Category(); err != nil {
		return web.Answer{}, err
	}
	request.From, request.To = message.UsageSpan(middle)
	if err := s.interval(q, &request.From, &request.To); err != nil {
		return web.Answer{}, err
	}
	usage, err := s.submitter.Usage(r.Context(), request)
	if err != nil {
		return web.Answer{}, err
	}
	timeline, err := s.submitter.Timeline(r.Context())
	if err != nil {
		return web.Answer{}, err
	}
	sends, err := timeline.List(r.Context(), sendlimit.ListRequest{User: request.User, From: request.From, To: request.To})
	if err != nil {
		return web.Answer{}, err
	}
	report := submit.UsageOf(request, usage, sends)
	report.More = len(sends) == sendlimit.MaxList
	if err := s.conceal(r.Context(), request.User, report.Sends); err != nil {
		return web.Answer{}, err
	}
	return web.Done(report), nil
}

func (s *server) nextFreeRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getNextFree", Method: http.MethodGet, Path: "/v1/users/{user}/next-free", Tags: []string{"users"},
			Summary:     "Get the next free times of a user",
			Description: "Each time counts those before it as taken, so messages at all of them would be accepted.",
			Parameters: []*huma.Param{
				userParameter(), timeParameter("from", "Time to look from; by default now."),
				countParameter("count", "Number of times.", 1, sendlimit.MaxNextFree),
				categoryParameter("The messages' category, whose rules apply too."),
			},
			Responses: responses[message.FreeTimes](s, "The times, in order."),
		},
		scope: accounts.ScopeRead, do: s.nextFree,
	}
}

func (s *server) nextFree(r *http.Request, q web.Query) (web.Answer, error) {
	request := sendlimit.NextFreeRequest{User: r.PathValue("user")}
	var err error
	if request.From, err = q.Time("from", time.Time{}); err != nil {
		return web.Answer{}, err
	}
	if request.Count, err = q.Count("count", 1, sendlimit.MaxNextFree); err != nil {
		return web.Answer{}, err
	}
	if request.Category, err = q.Category(); err != nil {
		return web.Answer{}, err
	}
	times, err := s.submitter.NextFree(r.Context(), request)
	if err != nil {
		return web.Answer{}, err
	}
	return web.Done(message.FreeTimes{Times: message.FreeTimesOf(request.User, times)}), nil
}
