package worldtest

import (
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// judgeEnded requires that a cancelled campaign accepts and sends nothing until it is reopened, and
// that no other campaign refuses messages for that reason.
func (v *verdict) judgeEnded() {
	for _, a := range v.answers {
		if a.Campaign == "" || a.Err != nil || !finds(a) {
			continue
		}
		refused := a.Got.Code == fault.CodeCampaignEnded
		accepted := a.Got.Submitted() && !a.Got.Replayed
		if accepted && v.hasEnded(a.Campaign, a.Began, a.Ended) || refused && !v.mayHaveEnded(a.Campaign, a.Began, a.Ended) {
			v.fault("cancel: %s of the campaign %s is answered %+v", a.Event, a.Campaign, a.Got)
		}
	}
	for _, k := range v.sorted() {
		if len(k.arrivals) > 0 && k.standing.Campaign != "" && v.hasEnded(k.standing.Campaign, k.arrivals[0].At, k.arrivals[0].At) {
			v.fault("cancel: %s arrived at %s, when its campaign had been cancelled", k, k.arrivals[0].At)
		}
	}
}

// hasEnded reports whether a campaign had certainly ended in a span.
func (v *verdict) hasEnded(campaign string, from, until time.Time) bool {
	return slices.ContainsFunc(v.campaigns, func(c CampaignChange) bool {
		return c.Do == CancelCampaign && c.Campaign == campaign && c.Done && !c.Ended.After(from) &&
			!slices.ContainsFunc(v.campaigns, func(r CampaignChange) bool {
				return r.Do == ReopenCampaign && r.Campaign == campaign && r.Ended.After(c.Began) && !r.Began.After(until)
			})
	})
}

// mayHaveEnded reports whether a campaign may have been cancelled in a span.
func (v *verdict) mayHaveEnded(campaign string, from, until time.Time) bool {
	return slices.ContainsFunc(v.campaigns, func(c CampaignChange) bool {
		return c.Do == CancelCampaign && c.Campaign == campaign && !c.Began.After(until) &&
			!slices.ContainsFunc(v.campaigns, func(r CampaignChange) bool {
				return r.Do == ReopenCampaign && r.Campaign == campaign && r.Done && !r.Began.Before(c.Ended) && r.Ended.Add(messages.EndLag).Before(from)
			})
	})
}
