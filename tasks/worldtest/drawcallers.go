package worldtest

import (
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// message draws a message that is submitted at a time.
func (d *drawer) message(at time.Duration) Event {
	d.ids++
	e := Event{
		At: at, Do: Submit, User: d.user(), ID: fmt.Sprintf("m%03d", d.ids), Shift: !d.oneIn(3),
		SendAt: at + d.Unit/20 + d.upTo(max(d.Length-d.Unit-at, d.Unit)),
	}
	if d.oneIn(4) {
		e.SendAt = at + d.Unit/20 + d.upTo(d.Unit)
	}
	e.Follow = !e.Shift
	if d.oneIn(5) {
		e.Do = DryRun
	}
	if d.Has(Categories) {
		e.Category = []string{CategoryNone, CategoryOther, CategoryNews, CategoryCodes, CategoryOffers}[d.random.IntN(5)]
	}
	if len(d.Accounts) > 0 && !d.oneIn(3) {
		e.Account = d.Accounts[d.random.IntN(len(d.Accounts))].Name
	}
	if d.Has(Campaigns) && d.oneIn(2) {
		e.Campaign, e.Account = []string{"spring", "autumn"}[d.random.IntN(2)], ""
	}
	if d.oneIn(3) || d.Has(LongRetries) || d.Has(LongPauses) {
		e.Expires = d.Unit/3 + d.upTo(4*d.Unit)
	}
	return e
}

// maybeWindow makes a window of the send time, which begins there.
func (d *drawer) maybeWindow(e *Event) {
	if d.Has(Windows) && !e.Shift && !e.Now && d.oneIn(2) {
		e.Window = d.Unit/4 + d.upTo(4*d.Unit)
		e.Prefer = []policy.Prefer{policy.PreferEarliest, policy.PreferLatest, policy.PreferNearest, policy.PreferSpread, policy.PreferBest}[d.random.IntN(5)]
	}
}

// late draws what becomes of a message whose send time has passed.
func (d *drawer) late() string {
	return []string{"", policy.LateRefuse, policy.LateNow, fmt.Sprintf("%ds", int(max(d.Unit, 8*time.Second).Seconds()))}[d.random.IntN(4)]
}

// lateMessage draws a message whose send time has passed when it is submitted.
func (d *drawer) lateMessage() Event {
	e := d.message(d.Unit + d.upTo(d.Length-2*d.Unit))
	e.SendAt, e.Expires, e.Late = e.At-d.upTo(2*max(d.Unit, 8*time.Second)), 0, d.late()
	return e
}

// title draws a title that no message had before.
func (d *drawer) title() string {
	d.ids++
	return fmt.Sprintf("title %d", d.ids)
}

// callers draws submits, moves, edits and cancels.
func (d *drawer) callers() {
	for range 30 + d.random.IntN(60) {
		at := time.Duration(0)
		if d.oneIn(2) {
			at = d.upTo(d.Length - 2*d.Unit)
		}
		e := d.message(at)
		if d.Unit >= time.Minute && d.oneIn(8) {
			e.Do, e.Now, e.SendAt = Submit, true, at
		}
		d.maybeWindow(&e)
		d.maybeKeeps(&e)
		d.add(e)
		if d.oneIn(8) { // others at the same moment, for the same user
			for range 1 + d.random.IntN(4) {
				other := d.message(at)
				other.User, other.SendAt, other.Category = e.User, e.SendAt, e.Category
				d.add(other)
			}
		}
		if d.Has(Moves) && d.oneIn(3) {
			when := at + d.upTo(max(e.SendAt-at, d.Unit)+d.Unit)
			change := Event{At: when, Do: Change, User: e.User, ID: e.ID, Account: e.Account, SendAt: when + d.Unit/20 + d.upTo(d.Length), Shift: d.oneIn(2)}
			if d.oneIn(3) {
				change.Do = Cancel
			} else if d.Has(Edits) && d.oneIn(2) {
				change.Title = d.title()
			}
			d.add(change)
		}
		if d.Has(Moves) && d.oneIn(4) {
			put := e
			put.At = at + d.upTo(max(e.SendAt-at, d.Unit)+d.Unit)
			put.Do, put.Title, put.SendAt, put.Now, put.Expires, put.Follow = Put, d.title(), put.At+d.Unit/20+d.upTo(d.Length), false, 0, false
			d.add(put)
			if d.oneIn(2) { // another one soon after
				put.At, put.Title = put.At+d.upTo(d.Unit/10), d.title()
				d.add(put)
			}
		}
		if d.Has(Edits) && d.oneIn(3) {
			for range 1 + d.random.IntN(2) {
				d.add(Event{At: at + d.upTo(max(e.SendAt-at, d.Unit)+d.Unit), Do: Edit, User: e.User, ID: e.ID, Account: e.Account, Title: d.title()})
			}
		}
	}
	if d.Has(FullDays) || d.Has(HourlyQuotas) {
		at := d.upTo(d.Length / 3)
		for range 12 { // many want the same moment
			e := d.message(at)
			e.SendAt, e.Shift, e.Do = d.Length*2/3, true, Submit
			d.add(e)
		}
	}
	if d.Has(FullDays) {
		for range 6 {
			e := d.message(d.upTo(d.Length / 2))
			e.SendAt = 24*time.Hour + d.upTo(d.Length)
			d.add(e)
			d.add(Event{At: d.Length/2 + d.upTo(d.Unit), Do: Change, User: e.User, ID: e.ID, Account: e.Account, SendAt: d.Length - d.Unit, Shift: true})
		}
	}
	if d.Has(Flood) {
		e := d.message(d.upTo(d.Length / 2))
		e.Together = 40
		d.add(e)
	}
	if d.Has(Bulk) {
		e := d.message(d.upTo(d.Length / 2))
		if d.Has(LateSubmits) {
			e = d.lateMessage()
		} else {
			d.maybeWindow(&e)
			d.maybeKeeps(&e)
		}
		e.Do, e.User, e.Together, e.Follow = SubmitFile, "", 20+d.random.IntN(20), false
		d.add(e)
	}
	if d.Has(LateSubmits) {
		for range 6 + d.random.IntN(12) {
			d.add(d.lateMessage())
		}
	}
	if d.Has(Campaigns) {
		for range 1 + d.random.IntN(3) {
			at, name := d.upTo(d.Length-d.Unit), []string{"spring", "autumn"}[d.random.IntN(2)]
			switch d.random.IntN(3) {
			case 0:
				d.add(Event{At: at, Do: CancelCampaign, Campaign: name})
				if d.oneIn(2) {
					d.add(Event{At: at + d.upTo(5*d.Unit), Do: ReopenCampaign, Campaign: name})
				}
			case 1:
				d.add(Event{At: at, Do: MoveCampaign, Campaign: name, By: d.Unit + d.upTo(5*d.Unit)})
			default:
				d.add(Event{At: at, Do: PauseCampaign, Campaign: name})
				d.add(Event{At: at + d.upTo(5*d.Unit) + 5*time.Second, Do: ResumeCampaign, Campaign: name})
			}
		}
	}
}
