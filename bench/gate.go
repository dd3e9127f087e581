package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// measureGate compares the Redis time of Claim and Settle of a message on time with
// that of the Reserve that took its place, both with and without somebody who listens to
// events, and the Claim with and without devices of the user.
func measureGate(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	each := 1 + (4*size.slices*size.reserves+size.users-1)/size.users
	times := newSchedule(size.users, each)
	if err := s.fill(ctx, times, size.users, true); err != nil {
		return nil, err
	}
	timelines, err := newTimelines(s.client)
	if err != nil {
		return nil, err
	}
	gate, err := messages.NewGate(s.client, sendlimit.Options{Prefix: "sr", Records: true})
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	heardGate, err := openHeardGate(ctx, s)
	if err != nil {
		return nil, err
	}
	to := &turns{schedule: times, taken: size.users}
	var sent []sendlimit.Request // of the last slice of reserve
	reserved := just(func(n int) operation {
		sent = withRecords(to.take(n))
		return func(ctx context.Context, i int) error { return reserve(ctx, timelines.records, sent[i]) }
	})
	claimed := just(func(int) operation {
		return func(ctx context.Context, i int) error { return claim(ctx, gate, sent[i]) }
	})
	settled := just(func(int) operation {
		return func(ctx context.Context, i int) error { return settle(ctx, gate, sent[i]) }
	})
	var heard []sendlimit.Request
	again := just(func(n int) operation {
		heard = withRecords(to.take(n))
		return func(ctx context.Context, i int) error { return reserve(ctx, timelines.records, heard[i]) }
	})
	heardClaims := just(func(int) operation {
		return func(ctx context.Context, i int) error { return claim(ctx, heardGate, heard[i]) }
	})
	heardSettlements := just(func(int) operation {
		return func(ctx context.Context, i int) error { return settle(ctx, heardGate, heard[i]) }
	})
	if err := s.storeDevices(ctx, size.users); err != nil {
		return nil, err
	}
	deviceGate, err := messages.NewGate(s.client, sendlimit.Options{Prefix: "sr", Records: true, Devices: true})
	if err != nil {
		return nil, fmt.Errorf("gate with devices: %w", err)
	}
	var pushed []sendlimit.Request
	once := just(func(n int) operation {
		pushed = withRecords(to.take(n))
		return func(ctx context.Context, i int) error { return reserve(ctx, timelines.records, pushed[i]) }
	})
	deviceClaims := just(func(int) operation {
		return func(ctx context.Context, i int) error { return claim(ctx, deviceGate, pushed[i]) }
	})
	err = s.interleave(ctx, size.slices, size.reserves, reserved, claimed, settled, again, heardClaims, heardSettlements,
		once, deviceClaims)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("claim", "Redis time of Claim, on time / Reserve with record and watch entry", claimed.timeOver(reserved), 1.5,
			"Claim "+claimed.timing(), "Reserve "+reserved.timing()),
		state("settle", "Redis time of Settle, delivered / Reserve with record and watch entry",
			fmt.Sprintf("%.2f ×", settled.timeOver(reserved)), "Settle "+settled.timing()),
		atMost("settle-heard", "Redis time of Claim and Settle, while somebody listens to events / while nobody does",
			median(ratios(together(heardClaims, heardSettlements), together(claimed, settled))), 1.2,
			"Claim "+heardClaims.timing(), "Settle "+heardSettlements.timing(),
			fmt.Sprintf("Settle alone %.2f ×", heardSettlements.timeOver(settled))),
		atMost("claim-devices", "Redis time of Claim, with 3 devices of the user / without", deviceClaims.timeOver(claimed), 1.3,
			"with "+deviceClaims.timing(), "without "+claimed.timing()),
	}, nil
}

// threeDevices is as long as the devices of a user with two phones and a browser: the longest
// part of each is its token or subscription.
func threeDevices() string {
	return strings.Repeat("f", 220) + "\n" + strings.Repeat("a", 130) + "\n" + strings.Repeat("w", 450)
}

// storeDevices gives each user devices.
func (s *store) storeDevices(ctx context.Context, users int) error {
	keys, err := keyspace.NewKeys("sr")
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	_, err = s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range users {
			pipe.Set(ctx, keys.Devices(userName(i)), threeDevices(), 0)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store devices: %w", err)
	}
	return nil
}

// together returns the Redis time of two operations, for each slice.
func together(one, other *side) []float64 {
	sums := slices.Clone(one.series.scriptTime)
	for i, spent := range other.series.scriptTime {
		sums[i] += spent
	}
	return sums
}

// openHeardGate returns the gate of messages that somebody listens to.
func openHeardGate(ctx context.Context, s *store) (*messages.Gate, error) {
	listeners := events.NewListeners(s.client, keyspace.KeysUnder("sr"))
	if err := listeners.Listen(ctx, keyspace.Everyone, time.Now().Add(time.Hour)); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	listening, err := listeners.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	subscribers := sendlimit.NewSubscribers(events.DefaultKeep)
	subscribers.Set(listening.Accounts())
	gate, err := messages.NewGate(s.client, sendlimit.Options{Prefix: "sr", Records: true, Subscribers: subscribers})
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	return gate, nil
}

// deliveryOf returns the delivery for the task of a reserved message.
func deliveryOf(r sendlimit.Request) messages.Delivery {
	return messages.Delivery{User: r.User, ID: r.ID, Generation: r.Record.Generation, Nonce: "nonce-" + r.Record.Generation}
}

// claim claims a message at its own time.
func claim(ctx context.Context, gate *messages.Gate, r sendlimit.Request) error {
	c, err := gate.Claim(ctx, deliveryOf(r), time.Minute, r.At)
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	if c.Verdict != messages.Send {
		return fmt.Errorf("claim: %s, where a message is on time", c.Verdict)
	}
	return nil
}

func settle(ctx context.Context, gate *messages.Gate, r sendlimit.Request) error {
	held, err := gate.Settle(ctx, deliveryOf(r), messages.Settlement{Outcome: messages.Delivered, Began: r.At}, r.At)
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	if !held {
		return errors.New("settle: another has the message, where nobody else is")
	}
	return nil
}
