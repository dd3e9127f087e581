package deliver

import (
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// slotsRun draws callers of Slots and knows who has a slot and who waits.
type slotsRun struct {
	*rapid.T

	slots   *Slots
	held    map[sendlimit.Origin]int
	waiting map[sendlimit.Origin][]*slotCaller // those that wait longest in front
	now     time.Time
	mu      sync.Mutex
	came    []*slotCaller // who got a slot, in order
}

// slotCaller is one that takes a slot.
type slotCaller struct {
	origin sendlimit.Origin
	giveUp context.CancelFunc
}

// A slot goes to the account with the fewest, then to its campaign with the fewest, then to who
// waits longest. None is free while somebody may have it, and none is lost.
func TestSlotsAreShared(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n, most := rapid.IntRange(1, 5).Draw(rt, "slots"), rapid.IntRange(0, 4).Draw(rt, "most")
		r := &slotsRun{T: rt, held: make(map[sendlimit.Origin]int), waiting: make(map[sendlimit.Origin][]*slotCaller)}
		r.slots = NewSlots(n, most, func() time.Time { return r.now })
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			rapid.SampledFrom([]func(){r.take, r.take, r.leave, r.giveUp, r.pass}).Draw(rt, "step")()
			r.check()
		}
		for len(r.held) > 0 || len(r.waiting) > 0 {
			r.leave()
			r.check()
		}
		r.pass()
		r.now = r.now.Add(2 * activeFor)
		r.take()
		r.check()
		r.leave()
		require.Len(rt, r.slots.accounts.members, 1, "accounts are forgotten")
	})
}

func (r *slotsRun) take() {
	o := sendlimit.Origin{Account: rapid.SampledFrom([]string{"", "a", "b"}).Draw(r.T, "account"), Campaign: rapid.SampledFrom([]string{"", "c"}).Draw(r.T, "campaign")}
	ctx, giveUp := context.WithCancel(context.Background())
	caller := &slotCaller{o, giveUp}
	r.waiting[o] = append(r.waiting[o], caller)
	go func() {
		if r.slots.Take(ctx, nil, o) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.came = append(r.came, caller)
		}
	}()
}

func (r *slotsRun) leave() {
	if len(r.held) == 0 {
		return
	}
	o := rapid.SampledFrom(r.origins(r.held)).Draw(r.T, "leaves")
	if r.held[o]--; r.held[o] == 0 {
		delete(r.held, o)
	}
	r.slots.Leave(o)
}

func (r *slotsRun) giveUp() {
	var all []*slotCaller
	for _, o := range slices.SortedFunc(maps.Keys(r.waiting), compareOrigins) {
		all = append(all, r.waiting[o]...)
	}
	if len(all) == 0 {
		return
	}
	caller := rapid.SampledFrom(all).Draw(r.T, "gives up")
	caller.giveUp()
	r.waits(caller.origin, slices.DeleteFunc(r.waiting[caller.origin], func(c *slotCaller) bool { return c == caller }))
}

func (r *slotsRun) pass() {
	r.now = r.now.Add(time.Duration(rapid.IntRange(0, 12).Draw(r.T, "seconds")) * time.Second)
}

// settled returns once the step is done: all callers wait or have a slot, and have said so.
func (r *slotsRun) settled() {
	callers, held := 0, 0
	for _, n := range r.held {
		callers, held = callers+n, held+n
	}
	for _, waiting := range r.waiting {
		callers += len(waiting)
	}
	for done := false; !done; runtime.Gosched() {
		r.slots.mu.Lock()
		r.mu.Lock()
		done = r.slots.accounts.held+r.slots.accounts.queued == callers && held+len(r.came) == r.slots.accounts.held
		r.mu.Unlock()
		r.slots.mu.Unlock()
	}
}

// check looks at who got a slot, and whether somebody else should have.
func (r *slotsRun) check() {
	r.settled()
	for len(r.came) > 0 {
		o := r.next()
		for other := range r.waiting {
			if r.mayHave(other.Account) {
				require.LessOrEqual(r, r.heldBy(o.Account), r.heldBy(other.Account), "%v before %v", o, other)
			}
			if other.Account == o.Account {
				require.LessOrEqual(r, r.held[o], r.held[other], "%v before %v", o, other)
			}
		}
		first := slices.Index(r.came, r.waiting[o][0])
		require.GreaterOrEqual(r, first, 0, "who waits longest is first")
		r.came[first].giveUp()
		r.came = slices.Delete(r.came, first, first+1)
		r.waits(o, r.waiting[o][1:])
		r.held[o]++
	}
	total := 0
	for _, n := range r.held {
		total += n
	}
	require.LessOrEqual(r, total, r.slots.all)
	require.Equal(r, total, r.slots.accounts.held)
	for o := range r.waiting {
		require.False(r, total < r.slots.all && r.mayHave(o.Account), "%v waits beside a free slot", o)
	}
}

// next returns the origin of those who came that got its slot first. They may have said so in
// another order.
func (r *slotsRun) next() sendlimit.Origin {
	return slices.MinFunc(r.came, func(a, b *slotCaller) int {
		return cmp.Or(
			cmp.Compare(r.heldBy(a.origin.Account), r.heldBy(b.origin.Account)), cmp.Compare(r.held[a.origin], r.held[b.origin]),
		)
	}).origin
}

// mayHave reports whether an account is below what one may have.
func (r *slotsRun) mayHave(account string) bool {
	return r.heldBy(account) < r.slots.most || len(r.slots.accounts.members) == 1
}

func (r *slotsRun) heldBy(account string) (n int) {
	for o, held := range r.held {
		if o.Account == account {
			n += held
		}
	}
	return n
}

func (r *slotsRun) waits(o sendlimit.Origin, left []*slotCaller) {
	if r.waiting[o] = left; len(left) == 0 {
		delete(r.waiting, o)
	}
}

func (r *slotsRun) origins(of map[sendlimit.Origin]int) []sendlimit.Origin {
	return slices.SortedFunc(maps.Keys(of), compareOrigins)
}

func compareOrigins(a, b sendlimit.Origin) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Campaign, b.Campaign))
}

// An account with messages without end leaves a few slots to others, and gets them all once it
// is alone for a while.
func TestOneAccountLeavesSlotsToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, b := NewDeliverySlots(8, time.Now), sendlimit.Origin{Account: "a"}, sendlimit.Origin{Account: "b"}
		for range 8 {
			require.True(t, s.Try(a), "it is alone")
		}
		require.False(t, s.Try(b))
		s.Leave(a)
		require.True(t, s.Try(b))
		for range 3 {
			s.Leave(a)
		}
		require.True(t, s.Try(a))
		require.True(t, s.Try(a), "six of eight")
		require.False(t, s.Try(a))
		s.Leave(b)
		require.False(t, s.Try(a), "the other one comes again perhaps")
		time.Sleep(activeFor + time.Second)
		s.Leave(a)
		require.True(t, s.Try(a))
		require.True(t, s.Try(a))
	})
}

// Who is new does not overtake who waits, neither an account nor a campaign.
func TestNewPartiesWaitTheirTurn(t *testing.T) {
	t.Parallel()
	for _, fresh := range []func(int) sendlimit.Origin{
		func(i int) sendlimit.Origin { return sendlimit.Origin{Account: "a", Campaign: strconv.Itoa(i)} },
		func(i int) sendlimit.Origin { return sendlimit.Origin{Account: strconv.Itoa(i)} },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := NewSlots(1, 1, time.Now)
			require.True(t, s.Try(fresh(0)))
			var came []int
			for i := range 20 {
				go func() {
					if s.Take(t.Context(), nil, fresh(i+1)) {
						came = append(came, i+1)
					}
				}()
				synctest.Wait()
			}
			for i := range 20 {
				s.Leave(fresh(i))
				synctest.Wait()
				require.Len(t, came, i+1)
				require.Equal(t, i+1, came[i])
			}
		})
	}
}
