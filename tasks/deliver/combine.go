package deliver

import (
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// settlement returns the settlement of the attempt, and the next timer if the message is tried
// again, else nil.
func (a *attempt) settlement() (messages.Settlement, *sendlimit.Timer) {
	progress, s := a.progress(), messages.Settlement{}
	if len(progress) > 1 || len(a.claim.Progress) > 0 || len(progress) == 1 && !isTarget(progress[0].Device) ||
		len(a.answers) > 1 {
		s.Progress = progress
	}
	if pending := a.pending(); len(pending) > 0 {
		return a.again(s, pending)
	}
	reached := func(state messages.DeviceState) bool {
		return slices.ContainsFunc(progress, func(done messages.DeviceDone) bool { return done.State == state })
	}
	switch {
	case progress.Delivered():
		s.Outcome, s.Began = messages.Delivered, a.claim.Now
		s.ProviderID = a.providerID()
	case reached(messages.DeviceUncertain):
		s.Outcome = messages.Uncertain
		s.Reason, s.Words = a.reasonOf(messages.DeviceUncertain)
	case reached(messages.DeviceFailed):
		s.Outcome = messages.Failed
		s.Reason, s.Words = a.reasonOf(messages.DeviceFailed)
	default:
		s.Outcome = messages.NoDevice
	}
	return s, nil
}

// progress returns the recipients that have a result.
func (a *attempt) progress() messages.Progress {
	progress := append(messages.Progress(nil), a.claim.Progress...)
	for _, to := range a.answers {
		if to.state != 0 {
			progress = append(progress, messages.DeviceDone{Device: to.id(), State: to.state})
		}
	}
	return progress
}

func isTarget(id string) bool { return id[0] == '@' }

// pending returns the answers of the recipients that have no result yet.
func (a *attempt) pending() []answer {
	return slices.DeleteFunc(slices.Clone(a.answers), func(to answer) bool { return to.state != 0 })
}

// again returns the settlement of a message that is tried again for its pending recipients, at the
// earliest time of one of them.
func (a *attempt) again(s messages.Settlement, pending []answer) (messages.Settlement, *sendlimit.Timer) {
	first, retry := pending[0], messages.Retry{Uncounted: true}
	unsent := !a.sent() && len(a.claim.Progress) == 0
	for _, to := range pending {
		if to.wait < first.wait {
			first = to
		}
		if to.counted {
			retry.Uncounted, retry.Uncertain = false, retry.Uncertain || to.result.Uncertain()
		}
		unsent = unsent && to.late
	}
	if unsent {
		queued, settlement := a.h.unsent(a.d)
		return settlement, &queued
	}
	s.Reason = first.reason
	if i := slices.IndexFunc(pending, isSent); i >= 0 { // a provider's reason says more than a wait
		s.Reason = pending[i].reason
	}
	return a.tryAgain(s, first.wait, retry)
}

func isSent(to answer) bool { return to.sent }

// sent reports whether a provider was asked.
func (a *attempt) sent() bool { return slices.ContainsFunc(a.answers, isSent) }

// providerID returns the provider's id of the message at the first device that it reached.
func (a *attempt) providerID() string {
	for _, to := range a.answers {
		if to.state == messages.DeviceDelivered && to.result.ProviderID != "" {
			return to.result.ProviderID
		}
	}
	return ""
}

// reasonOf returns the reason of the first recipient in a state, and its provider's words.
func (a *attempt) reasonOf(state messages.DeviceState) (reason, words string) {
	for _, to := range a.answers {
		if to.state == state {
			return to.reason, detail(to.result)
		}
	}
	return string(notifier.ReasonRejected), "" // the reasons of earlier attempts are not kept
}

// tryAgain completes the settlement of a delivery that is tried again after wait, or when the
// message expires and is to be dropped. It returns the timer.
func (a *attempt) tryAgain(s messages.Settlement, wait time.Duration, again messages.Retry) (messages.Settlement, *sendlimit.Timer) {
	due := a.h.Clock.OfUser(a.d.User).Now().Add(wait).Truncate(time.Millisecond)
	if due.After(a.claim.ExpiresAt) {
		due = a.claim.ExpiresAt
	}
	retry := &sendlimit.Timer{User: a.d.User, ID: a.d.ID, Generation: keyspace.NewToken(), Due: due, Origin: a.d.Origin}
	again.Generation, again.At = retry.Generation, retry.Due
	s.Outcome, s.Retry = messages.Retried, again
	return s, retry
}
