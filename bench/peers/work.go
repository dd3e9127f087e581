package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/traffic"
)

// spread returns messages of as many users that are due at random times of some days.
func spread(name string, n int) []side.Message {
	const (
		first = 2 * 24 * time.Hour
		span  = 5 * 24 * time.Hour
	)
	random := rand.New(rand.NewPCG(uint64(n), 1))
	from := time.Now().Add(first).Truncate(time.Millisecond)
	return users(name, n, func(int) time.Time {
		return from.Add(time.Duration(random.Int64N(span.Milliseconds())) * time.Millisecond)
	})
}

// herd returns messages of as many users that are due at one millisecond.
func herd(n int, at time.Time) []side.Message {
	return users("herd", n, func(int) time.Time { return at })
}

// steady returns messages of as many users, so many a second from a time on.
func steady(n, perSecond int, from time.Time) []side.Message {
	each := time.Second / time.Duration(perSecond)
	return users("steady", n, func(i int) time.Time { return from.Add(time.Duration(i) * each) })
}

// pairs returns two messages of each user: one is due at a time, the other a minute and a second later.
func pairs(n int, from time.Time) []side.Message {
	const apart = time.Minute + time.Second
	var all []side.Message
	for i := range n {
		user := fmt.Sprintf("pair-%d", i)
		all = append(all, side.Message{ID: user + "-1", User: user, At: from}, side.Message{ID: user + "-2", User: user, At: from.Add(apart)})
	}
	return all
}

func users(name string, n int, at func(i int) time.Time) []side.Message {
	all := make([]side.Message, n)
	for i := range all {
		all[i] = side.Message{ID: fmt.Sprintf("%s-m%d", name, i), User: fmt.Sprintf("%s-u%d", name, i), At: at(i).Truncate(time.Millisecond)}
	}
	return all
}

// realSends returns the lines of a file of real sends, in its order, from the next midnight of UTC on.
func realSends(path string) ([]side.Message, error) {
	sends, err := traffic.Read(path)
	if err != nil {
		return nil, err
	}
	start := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	all := make([]side.Message, len(sends))
	for i, s := range sends {
		all[i] = side.Message{ID: fmt.Sprintf("line-%d", i+1), User: s.User, At: start.Add(s.Offset)}
	}
	return all, nil
}

// writeWork writes messages as a side reads them.
func writeWork(path string, messages []side.Message) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the messages: %w", err)
	}
	buffered := bufio.NewWriter(file)
	for _, m := range messages {
		fmt.Fprintf(buffered, "%s,%s,%d\n", m.ID, m.User, m.At.UnixMilli())
	}
	if err := buffered.Flush(); err != nil {
		_ = file.Close()
		return fmt.Errorf("write the messages: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write the messages: %w", err)
	}
	return nil
}
