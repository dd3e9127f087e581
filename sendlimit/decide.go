package sendlimit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const (
	flagShifted    = 1
	flagReplayed   = 2
	flagSuperseded = 4
	flagReplaced   = 8
)

// explainTries is how often a request is judged again because its refusal was out of date.
const explainTries = 8

// decide calls a script that decides about a request, and repeats the call until the search for a
// free time ends.
//
// If the search ended where other rules apply, Check says with the rules of the requested time why
// that time is refused. It must not reserve: a hold may cover another period, and the time may not
// be taken under it.
func (t *Timeline) decide(
	ctx context.Context, r Request, doing string, what *lua.Script,
	decides func(r Request, by judge.UserRules, resume any) (keys []string, args []any),
) (Decision, error) {
	book, err := t.book()
	if err != nil {
		return Decision{}, err
	}
	cursor := judge.SearchCursor{Begin: ""}
	call := judge.Call{Client: t.client, Script: what, Doing: doing, User: r.User, At: func(by judge.UserRules) time.Time {
		return cmp.Or(cursor.At(by), r.SearchFrom, r.At, r.Now)
	}, Zone: r.Zone, Best: r.best, Valid: r.Valid}
	arguments, explained, explaining, tries := decides, r, false, 0
	startAgain := func() {
		r, explaining, cursor, tries = explained, false, judge.SearchCursor{Begin: ""}, tries+1
		call.Script, arguments = what, decides
	}
	for {
		answer, by, err := book.Run(ctx, call, func(by judge.UserRules) ([]string, []any) {
			return arguments(r, by, cursor.Under(by))
		})
		if err != nil {
			return Decision{}, err
		}
		book = by.Book
		in := script.Read(answer, doing)
		if len(answer) == 1 { // the plain acceptance has only the time
			return Decision{Allowed: true, At: r.At.UTC().Truncate(time.Millisecond), Now: in.Time(0)}, in.Err
		}
		status := in.Int(0)
		refused := status == judge.StatusSendLimit || status == judge.StatusQuietHours || status == judge.StatusDoNotDisturb ||
			status == judge.StatusTooManyPlaces || status == judge.StatusAccountPlaces
		switch {
		case explaining && status == judge.StatusAllowed && explained.Hold != nil:
			// The caller tries again with a hold for this time.
			return Decision{Code: fault.CodeSendLimit, Now: in.Time(1), At: in.Time(2)}, in.Err
		case explaining && status == judge.StatusAllowed: // the time has become free
			if startAgain(); tries > explainTries {
				return Decision{}, &fault.UnavailableError{Detail: "others keep changing the same times: try again in a moment"}
			}
			continue
		case refused && !explaining && !by.Judges(r.User, in.Time(2)):
			// A time that is just past is judged by the present rules, which may have changed.
			explaining = true
			r.WithoutFreeTimes = r.WithoutFreeTimes && !r.shifts(by.Rules)
			r.Shift, r.ByPolicy, r.SearchFrom = false, false, time.Time{}
			cursor = judge.SearchCursor{Begin: ""}
			call.Script, arguments = lua.Check, t.checkCall
			continue
		}
		if status != judge.StatusSearchOn {
			self := ""
			if r.Replace != nil {
				self = r.ID
			}
			d, err := t.decision(ctx, in, r, by, self)
			if err != nil || tries >= explainTries || !explained.missed(d, by.Rules) {
				return d, err
			}
			startAgain()
			continue
		}
		next := in.Int(2)
		if in.Err != nil {
			return Decision{}, in.Err
		}
		if next == 0 {
			r.WithoutSpread, cursor = true, judge.SearchCursor{Begin: ""}
			continue
		}
		if err := cursor.GoOn(doing, by, next); err != nil {
			return Decision{}, err
		}
	}
}

// decision turns a reply into a Decision, by the rules that judged it. If the search continues, the
// reservation self does not count.
func (t *Timeline) decision(ctx context.Context, in *script.ReplyReader, r Request, by judge.UserRules, self string) (Decision, error) {
	status := in.Int(0)
	d := Decision{Now: in.Time(1), At: in.Time(2)}
	d.RequestedAt = in.Time(3)
	switch status {
	case judge.StatusAllowed:
		flags := in.Int(4)
		d.Allowed = true
		d.Shifted, d.Replayed, d.Replaced = flags&flagShifted != 0, flags&flagReplayed != 0, flags&flagReplaced != 0
		d.MovedFrom = in.Time(5)
		notices := 6
		if flags&flagSuperseded != 0 {
			d.Superseded = Timer{User: r.User, ID: self, Generation: in.String(6), Due: in.Time(7)}
			notices = 8
		}
		d.Notices = in.Strings(notices)
	case judge.StatusSendLimit:
		d.Code = fault.CodeSendLimit
		return t.refusal(ctx, in, d, r, by, self)
	case judge.StatusQuietHours:
		d.Code, d.Quiet = fault.CodeQuietHours, by.Rules.Scope(in.String(8)).QuietPeriod(d.At)
		if d.Quiet == nil && in.Err == nil { // for example with a clock that is years off
			return Decision{}, script.ReplyError(in.Doing, "quiet hours at a time that has none")
		}
		return t.refusal(ctx, in, d, r, by, self)
	case judge.StatusDoNotDisturb:
		d.Code, d.DoNotDisturbUntil = fault.CodeDoNotDisturb, time.UnixMilli(by.Rules.Scope(in.String(8)).DisturbsUntil()).UTC()
		return t.refusal(ctx, in, d, r, by, self)
	case judge.StatusTooManyPlaces:
		d.Code, d.PlacesPerDay = fault.CodeTooManyPlaces, t.options.PlacesPerDay
		d.OfOthers = r.Share.Places > 0 // otherwise the account has used up its share
		return t.refusal(ctx, in, d, r, by, self)
	case judge.StatusAccountPlaces:
		d.Code, d.PlacesPerDay = fault.CodeAccountPlaces, r.Share.Places
		return t.refusal(ctx, in, d, r, by, self)
	case judge.StatusBlocked:
		switch {
		case by.Blocked:
			d.Code = fault.CodeBlocked
		case by.Rules.Scope(r.Category).OptedOut:
			d.Code = fault.CodeOptedOut
		case !by.Rules.Scope(r.Category).Admits(r.Share.Account):
			d.Code = fault.CodeCategoryReserved
		default:
			d.Code = fault.CodeUnknownCategory
			d.Categories = slices.Sorted(maps.Keys(by.Rules.Policy.Categories))
		}
	case judge.StatusOptedOut:
		d.Code = fault.CodeOptedOut
	case judge.StatusIDReused:
		d.Code = fault.CodeIDReused
	case judge.StatusTooLate:
		d.Code = fault.CodeTooLate
	case judge.StatusNotFound:
		d.Code = fault.CodeNotFound
	case judge.StatusInPast:
		d.Code = fault.CodeInPast
		if d.At.IsZero() { // a reply has 0 for no time, but the first millisecond of 1970 is a time
			d.At = time.UnixMilli(0).UTC()
		}
	case judge.StatusTooFarAhead:
		d.Code = fault.CodeTooFarAhead
		d.Latest = d.Now.Add(by.Rules.Reach(t.options.Reach))
	case judge.StatusPastExpiry:
		d.Code = fault.CodePastExpiry
		d.ExpiresAt = in.Time(4)
	case judge.StatusExpiresLate:
		d.Code, d.Latest = fault.CodeInvalidField, in.Time(4)
	case judge.StatusMovedOften:
		d.Code = fault.CodeRateLimited
		d.RetryAfter = in.Time(4).Sub(d.Now)
	case judge.StatusHoldOver:
		d.Code = fault.CodeHoldOver
	case judge.StatusOutsideHold:
		d.Code = fault.CodeOutsideHold
	case judge.StatusChanged:
		d.Code = fault.CodeChanged
	case judge.StatusEdited:
		d.Code = fault.CodeEdited
	default:
		return Decision{}, script.ReplyError(in.Doing, fmt.Sprintf("status %d", status))
	}
	return d, in.Err
}

func (t *Timeline) refusal(ctx context.Context, in *script.ReplyReader, d Decision, r Request, by judge.UserRules, self string) (Decision, error) {
	d.NextFree, d.PreviousFree = in.Time(4), in.Time(6)
	d.WithoutFreeTimes = r.WithoutFreeTimes && !r.shifts(by.Rules)
	category := cmp.Or(in.String(8), r.Category) // a move does not know its category
	scope := by.Rules.Scope(category)
	for i := 9; i < len(in.Reply); i++ {
		v, err := violation(scope, in.Nested(i))
		if err != nil {
			return Decision{}, err
		}
		d.Violations = append(d.Violations, v)
	}
	if in.Err != nil {
		return Decision{}, in.Err
	}
	on := t.search(NextFreeRequest{User: r.User, Category: category, ID: self, Count: 1, Share: r.Share, Now: d.Now})
	var err error
	if on.From, on.Later = in.Time(5), true; !on.From.IsZero() {
		if d.NextFree, err = firstFree(ctx, by.Book, on); err != nil {
			return Decision{}, err
		}
	}
	if on.From, on.Later = in.Time(7), false; !on.From.IsZero() {
		if d.PreviousFree, err = firstFree(ctx, by.Book, on); err != nil {
			return Decision{}, err
		}
	}
	return d, nil
}

func violation(c *judge.Scope, in *script.ReplyReader) (Violation, error) {
	number := int(in.Int(0))
	own := number > c.Count() // the account's share of a rule
	if own {
		number -= c.Count()
	}
	if in.Err == nil && (number < 1 || number > c.Count()) {
		return Violation{}, script.ReplyError(in.Doing, fmt.Sprintf("rule %d", number))
	}
	v := Violation{ConflictsTotal: int(in.Int(1)), From: in.Time(2), Until: in.Time(3), Conflicts: reservations(in, 4)}
	if in.Err != nil {
		return Violation{}, in.Err
	}
	v.Rule, v.Category = c.Rule(number)
	if own {
		if v.Share = c.Set.Policy.AccountLimit(v.Rule); v.Share == 0 {
			return Violation{}, script.ReplyError(in.Doing, fmt.Sprintf("rule %d, without a share of it", number))
		}
	}
	return v, nil
}

// firstFree completes a search that one call did not finish.
func firstFree(ctx context.Context, book *judge.Rulebook, s judge.Search) (time.Time, error) {
	times, _, err := book.FreeTimes(ctx, s)
	if err != nil || len(times) == 0 {
		return time.Time{}, err
	}
	return times[0], nil
}

// search returns the search of a request.
func (t *Timeline) search(r NextFreeRequest) judge.Search {
	var shift *judge.Shift
	if r.Shifts != nil {
		shift = new(r.Shifts.shift())
	}
	return judge.Search{
		Client: t.client, User: r.User, Timeline: t.keys.Timeline(r.User), Settings: t.settings(r.User),
		Reach: t.options.Reach, Places: t.options.PlacesPerDay, Share: r.Share,
		Category: r.Category, From: r.From, Now: r.Now, Count: r.Count, Later: !r.Earlier, Self: r.ID,
		Shift: shift,
	}
}

// reservations reads pairs of an id and a time from element i on.
func reservations(r *script.ReplyReader, i int) []keyspace.Reservation {
	if i >= len(r.Reply) {
		return nil
	}
	list := make([]keyspace.Reservation, 0, (len(r.Reply)-i)/2)
	for ; i < len(r.Reply); i += 2 {
		list = append(list, keyspace.Reservation{ID: r.String(i), At: r.Time(i + 1)})
	}
	return list
}
