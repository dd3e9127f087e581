package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const (
	// laneMark is between the first name of a prefix and the digits of a lane.
	laneMark = ":lane:"
	// laneDigits is how many hexadecimal digits follow.
	laneDigits = 16
	// campaignLanes is how many lanes the campaigns of an account share.
	campaignLanes = 7
)

// laneOf returns the lane of the i-th of n queues for messages of an origin. An account has a
// lane for messages without a campaign, and campaignLanes others. A lane is in the same share of
// the slots as its queue. Its name does not show the account.
func laneOf(first string, o sendlimit.Origin, i, n int) string {
	campaigns := uint64(0)
	if o.Campaign != "" {
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(o.Campaign))
		campaigns = 1 + sum.Sum64()%campaignLanes
	}
	for try := 0; ; try++ {
		digest := sha256.Sum256([]byte(o.Account + "\x00" + strconv.FormatUint(campaigns, 10) + "\x00" + strconv.Itoa(try)))
		name := first + laneMark + hex.EncodeToString(digest[:laneDigits/2])
		if n == 1 || share(slot(name), n) == i && inMiddle(slot(name), i, n) {
			return name
		}
	}
}

// isLane reports whether a name is a lane of the prefix with this first queue.
func isLane(first, name string) bool {
	digits, is := strings.CutPrefix(name, first+laneMark)
	if !is || len(digits) != laneDigits {
		return false
	}
	_, err := hex.DecodeString(digits)
	return err == nil && strings.ToLower(digits) == digits
}

// removeLane removes a lane if it is still empty. If that fails, it stays until it is used again.
func (q *Queue) removeLane(ctx context.Context, name string) {
	if err := q.inspector.DeleteQueue(name, false); err != nil {
		return // it has tasks again, or another worker removed it
	}
	// A task may have come between asynq's two steps.
	if found, err := q.countTasks(ctx, []string{name}); err != nil || found[name].all > 0 {
		q.redis.SAdd(ctx, queuesKey, name)
		return
	}
	q.redis.Del(ctx, key(name, "processed"), key(name, "failed")) // asynq keeps these
}

// moveCrowds moves messages from a shared queue into lanes if their account crowds its handlers:
// they wait for a pace, a slot or a provider, and delay others. It returns the other messages.
func (s *Server) moveCrowds(ctx context.Context, batch []sendlimit.Timer) (stay []sendlimit.Timer, failed error) {
	chosen, err := s.queue.spread.shares(ctx)
	if err != nil {
		return nil, err
	}
	moved := make(map[string][]sendlimit.Timer)
	for _, m := range batch {
		if !s.inHand.crowded(m.Origin.Account) {
			stay = append(stay, m)
			continue
		}
		i := int(chosen.of[keyspace.Partition(m.User)])
		lane := laneOf(s.queue.spread.first, m.Origin, i, len(chosen.names))
		moved[lane] = append(moved[lane], m)
	}
	for lane, part := range moved {
		if err := s.queue.enqueueTogether(ctx, lane, part, time.Time{}); err != nil {
			return nil, err // the task comes again: moved messages are stale in it
		}
	}
	return stay, nil
}

// hands counts a worker's running tasks of the shared queues, by the account of their first message.
type hands struct {
	mu    sync.Mutex
	total int
	of    map[string]int
}

func (h *hands) add(account string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total += n
	if h.of[account] += n; h.of[account] == 0 {
		delete(h.of, account)
	}
}

// fewInHand is how many running tasks an account may always have.
const fewInHand = 8

// crowded reports whether an account has at least an equal share of the running tasks, while most
// handlers are busy.
func (h *hands) crowded(account string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	own := h.of[account]
	return h.total > handlers*3/4 && own > fewInHand && own*len(h.of) >= h.total
}
