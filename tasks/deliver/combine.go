package deliver

import (
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// settlement returns what to record of the attempt, and what to enqueue if the message is
// tried again, else nil.
func (a *attempt) settlement() (messages.Settlement, *sendlimit.Timer) {
	progress, s := a.progress(), messages.Settlement{}
	if len(progress) > 1 || len(a.claim.Progress) > 0 || len(progress) == 1 && !isTarget(progress[0].Device) ||
		len(a.answers) > 1 {
		s.Progress = progress
	}
	if pending := a.pending(); pending != nil {
		return a.again(s, pending)
	}
	reached := func(state messages.DeviceState) bool {
		for _, done := range progress {
			if done.State == state {
				return true
			}
		}
		return false
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

// progress returns the recipients that the message is done with.
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

// pending returns the answers of the recipients that the message still has to go to.
func (a *attempt) pending() []answer {
	var pending []answer
	for _, to := range a.answers {
		if to.state == 0 {
			pending = append(pending, to)
		}
	}
	return pending
}

// again returns the settlement of a message that is tried again for pending recipients, as
// soon as the first of them may get it.
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
	for _, to := range pending {
		if to.sent { // what a provider said tells more than that others wait
			s.Reason = to.reason
			break
		}
	}
	return a.tryAgain(s, first.wait, retry)
}

// sent reports whether a provider was asked.
func (a *attempt) sent() bool {
	for _, to := range a.answers {
		if to.sent {
			return true
		}
	}
	return false
}

// providerID returns the provider's name for the message, of the first device it reached.
func (a *attempt) providerID() string {
	for _, to := range a.answers {
		if to.state == messages.DeviceDelivered && to.result.ProviderID != "" {
			return to.result.ProviderID
		}
	}
	return ""
}

// reasonOf returns why the first recipient in a state did not get the message, and what its provider
// said.
func (a *attempt) reasonOf(state messages.DeviceState) (reason, words string) {
	for _, to := range a.answers {
		if to.state == state {
			return to.reason, detail(to.result)
		}
	}
	return string(notifier.ReasonRejected), "" // of an earlier attempt, whose reason is not kept
}

// tryAgain completes the settlement of a delivery that is tried again after wait, at the latest when
// the message expires and is to be dropped. It returns what to enqueue.
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
