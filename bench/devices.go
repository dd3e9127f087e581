package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// measureDevices measures how many bytes of Redis a device takes, for users with one device
// and with three: with an FCM token of 163 characters, a locale, an account and a last success.
// What Redis says of a key counts. The growth of its memory is told, too: it has the slots of
// the table of keys, and what Redis allocates ahead.
func measureDevices(ctx context.Context, size sizes) ([]row, error) {
	var most float64
	var measured, figures []string
	for _, each := range []int{1, 3} {
		var key float64
		grown, err := memoryOf(ctx,
			func(s *store) error { _, err := s.fillDevices(ctx, size.warmUp/10, each); return err },
			func(s *store) (err error) { key, err = s.fillDevices(ctx, size.deviceUsers, each); return err })
		if err != nil {
			return nil, err
		}
		most = max(most, key)
		measured = append(measured, fmt.Sprintf("%d a user: %.1f bytes", each, key))
		figures = append(figures, fmt.Sprintf("%d a user: MEMORY USAGE %.1f bytes, growth of used_memory %.1f bytes", each, key, grown/float64(each*size.deviceUsers)))
	}
	return []row{{
		Name: "memory-device", What: "Redis memory per device with an FCM token of 163 characters", Goal: "≤ 300 bytes",
		Measured: strings.Join(measured, ", "), Verdict: judge(most <= 300), Figures: figures,
	}}, nil
}

// fillDevices registers devices of users, and returns how many bytes one takes by what Redis
// says of the keys.
func (s *store) fillDevices(ctx context.Context, users, each int) (float64, error) {
	all := devices.New(s.client, keyspace.KeysUnder(""), devices.Options{})
	_, err := drive(ctx, users, func(ctx context.Context, i int) error {
		var ids []string
		for range each {
			r, err := all.Add(ctx, userName(i), devices.Device{Channel: devices.FCM, Address: newToken(), Locale: "en-GB", Account: "acme"}, 0)
			if err != nil {
				return fmt.Errorf("registering a device: %w", err)
			}
			ids = append(ids, r.Device.ID)
		}
		if _, err := all.NoteSuccess(ctx, userName(i), ids); err != nil {
			return fmt.Errorf("noting a success: %w", err)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	keys, err := keyspace.NewKeys("")
	if err != nil {
		return 0, fmt.Errorf("keys: %w", err)
	}
	sampled := min(1_000, users)
	var total int64
	for i := range sampled {
		bytes, err := s.client.MemoryUsage(ctx, keys.Devices(userName(i))).Result()
		if err != nil {
			return 0, fmt.Errorf("memory of devices: %w", err)
		}
		total += bytes
	}
	return float64(total) / float64(sampled*each), nil
}

// newToken makes a token as long as those of FCM are: 22 characters, a colon and 140 more.
func newToken() string {
	text := strings.Repeat(rand.Text(), 7) // 26 characters each
	return text[:22] + ":" + text[22:162]
}
