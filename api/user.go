package api

import (
	"context"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

func (s *server) userRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listMessages", http.MethodGet, "/v1/users/{user}/messages", "users",
				"List a user's messages",
				"Sorted by send time, with their statuses. The list has scheduled and late messages, and sent messages as "+
					"long as a rule can still count them. Cancelled, dropped and failed messages are listed at their planned "+
					"send time as long as their records are kept. A key without the scope admin lists only the messages of its "+
					"account. "+operatorsMetadata),
			scope: accounts.ScopeRead, says: "A page of messages.",
		}, s.list),
		operation(s, route{
			Operation: named("getUsage", http.MethodGet, "/v1/users/{user}/usage", "users",
				"Get how full a user's rules are, and the free times",
				"For a sliding rule this is the fullest window around the time, for a calendar rule the period that "+
					"contains it. Sent and scheduled messages both count. Quiet hours are not free. Messages of other accounts "+
					"have no ids. If there are more than 10,000 sends, only the first are listed and more is true."),
			scope: accounts.ScopeRead, says: "The usage.",
		}, s.usage),
		operation(s, route{
			Operation: named("getNextFree", http.MethodGet, "/v1/users/{user}/next-free", "users",
				"Get the next free times of a user",
				"Each time counts the ones before it as taken, so messages at all of them would be accepted."),
			scope: accounts.ScopeRead, says: "The times, in order.",
		}, s.nextFree),
	}
}

// addTitles sets the titles of a user's messages, if the caller may see their content.
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

// present returns the local time, in milliseconds.
func (s *server) present() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

type listPage struct {
	ofUser

	From   time.Time  `query:"from" doc:"First send time; by default the oldest one."`
	Until  time.Time  `query:"until" doc:"End of the send times, exclusive; by default none."`
	Limit  int        `query:"limit" usual:"100" most:"1000" doc:"Messages a page."`
	Cursor web.Cursor `query:"cursor"`
	Titles bool       `query:"titles" doc:"true adds the titles of the messages whose content the key may see."`
}

func (s *server) list(ctx context.Context, in listPage) (page message.Messages, err error) {
	request := sendlimit.ListRequest{User: in.User, From: in.From, To: in.Until, Limit: in.Limit + 1} // the one that says that there are more
	if in.Cursor != (web.Cursor{}) {
		request.After = keyspace.Reservation{ID: in.Cursor.ID, At: in.Cursor.Time()}
	}
	statuses, err := s.reaching(ctx).List(ctx, request)
	if err != nil {
		return page, err
	}
	page.Messages = []message.Status{}
	if len(statuses) > in.Limit {
		statuses = statuses[:in.Limit]
		last := statuses[in.Limit-1]
		page.NextCursor = s.sealed(ctx, web.Cursor{Milliseconds: last.SendAt.UnixMilli(), ID: last.ID}.String())
	}
	if in.Titles {
		if err := s.addTitles(ctx, in.User, statuses); err != nil {
			return page, err
		}
	}
	for _, status := range statuses {
		page.Messages = append(page.Messages, s.shown(ctx, status))
	}
	return page, nil
}

type usageSpan struct {
	ofUser

	At       time.Time `query:"at" now:"zero" doc:"The time; by default now."`
	From     time.Time `query:"from" doc:"Start of the timeline; by default 12 hours before at."`
	Until    time.Time `query:"until" doc:"End of the timeline, up to 32 days later; by default 12 hours after at."`
	Category string    `query:"category" example:"marketing" doc:"Adds the rules of this category, and the free times for its messages."`
}

func (s *server) usage(ctx context.Context, in usageSpan) (report message.Usage, err error) {
	request := sendlimit.UsageRequest{User: in.User, At: in.At, Category: in.Category}
	middle := in.At
	if middle.IsZero() {
		middle = s.present()
	}
	request.From, request.To = message.UsageSpan(middle)
	if !in.From.IsZero() {
		request.From = in.From
	}
	if !in.Until.IsZero() {
		request.To = in.Until
	}
	usage, err := s.Submitter.Usage(ctx, request)
	if err != nil {
		return report, err
	}
	timeline, err := s.Submitter.Timeline(ctx)
	if err != nil {
		return report, err
	}
	sends, err := timeline.List(ctx, sendlimit.ListRequest{User: in.User, From: request.From, To: request.To})
	if err != nil {
		return report, err
	}
	report = submit.UsageOf(request, usage, sends)
	report.More = len(sends) == sendlimit.MaxList
	return report, s.conceal(ctx, in.User, report.Sends)
}

type freeTimes struct {
	ofUser

	From     time.Time `query:"from" now:"zero" doc:"Start of the search; by default now."`
	Count    int       `query:"count" usual:"1" most:"100" doc:"Number of times."`
	Category string    `query:"category" example:"marketing" doc:"The category of the messages, whose rules apply too."`
}

func (s *server) nextFree(ctx context.Context, in freeTimes) (message.FreeTimes, error) {
	times, err := s.Submitter.NextFree(ctx, sendlimit.NextFreeRequest{User: in.User, From: in.From, Count: in.Count, Category: in.Category})
	return message.FreeTimes{Times: message.FreeTimesOf(in.User, times)}, err
}
