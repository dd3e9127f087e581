package submit

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// RecordSent records a message that something else has sent, so that it counts for later ones. It
// judges and delivers nothing. The message needs no title or body. The outcome is Recorded,
// Forgotten if no rule looks back that far, or Replayed if the same message was recorded before.
func (s *Submitter) RecordSent(ctx context.Context, m message.Message) (message.Outcome, error) {
	if err := validateSent(m); err != nil {
		return message.InvalidOutcome(err, m), nil
	}
	if err := s.capacity.refusal(ctx); err != nil {
		return message.Outcome{}, err
	}
	if m.InZoneOfUser() {
		if err := s.learnZone(ctx, m.User); err != nil {
			return message.Outcome{}, err
		}
	}
	read := resolve(s.Policies.Rules(), m)
	m = read.Message
	if read.wrong != nil {
		return message.InvalidOutcome(read.wrong, m), nil
	}
	timeline, err := s.Timeline(ctx)
	if err != nil {
		return message.Outcome{}, err
	}
	if latest := s.Policies.Now().Add(timeline.Reach() + sendlimit.ExpiryBeyondReach); m.ExpiresAt.After(latest) {
		return message.InvalidOutcome(expiresLate(m.ExpiresAt, latest), m), nil
	}
	if m.ID == "" {
		m.ID = uuid.Must(uuid.NewV7()).String() // fails only if the system has no randomness
	}
	metadata, err := message.EncodeMetadata(m.Metadata)
	if err != nil {
		return message.Outcome{}, err
	}
	mark := message.Fingerprint(m)
	request := sendlimit.SentRequest{
		User: m.User, ID: m.ID, At: m.SendAt,
		Record: &sendlimit.Record{
			Generation: keyspace.NewToken(), Fingerprint: string(mark[:]), Category: m.Category,
			Campaign: m.Campaign, Metadata: metadata, Local: message.EncodeLocal(read.local),
		},
	}
	var recorded sendlimit.Recorded
	err = s.replicas.secure(ctx, timeline, m.User, func(t *sendlimit.Timeline) (bool, error) {
		var err error
		recorded, err = t.RecordSent(ctx, request)
		return recorded.Code == "", err
	})
	if err != nil {
		return message.Outcome{}, err
	}
	switch recorded.Code {
	case "":
		s.Announce(ctx, recorded.Notices)
		s.capacity.take(0)
		o := message.Outcome{
			Outcome: message.Recorded, ID: m.ID, User: m.User, SendAt: message.Time{Time: recorded.At},
			Replayed: recorded.Replayed, Forgotten: recorded.Forgotten,
		}
		return o, s.addLocal(ctx, &o, read)
	case fault.CodeInvalidField:
		return message.InvalidOutcome(notOver(m.SendAt.UTC().Format(time.RFC3339Nano)), m), nil
	default:
		d := sendlimit.Decision{Code: recorded.Code, At: recorded.At, PlacesPerDay: recorded.PlacesPerDay, Now: recorded.Now}
		return outcomeOf(d, message.Recorded, m.User, m.ID), nil
	}
}

// validateSent is Message.ValidateSent for a message that must have a time.
func validateSent(m message.Message) error {
	if m.Now {
		return notOver("now")
	}
	return m.ValidateSent()
}

func notOver(at string) *fault.InvalidError {
	return fault.Wrong("send_at", "send_at, %s, has not passed: only messages that were sent are recorded", at)
}
