package integration_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Times of a story of outages, from its beginning.
const (
	outagesFirst = time.Second      // the first send time
	outagesLast  = 18 * time.Second // the last one
	outagesUsers = 15
	outagesEach  = 10 // messages of a user that are submitted
	// Quiet hours begin for some users, and end for others, in the middle of the story.
	outagesQuietFrom  = 5 * time.Second
	outagesQuietUntil = 14 * time.Second
)

// awayPlan is one outage.
type awayPlan struct {
	what  awayKind
	from  time.Duration // from the beginning of the story
	lasts time.Duration // zero for the queue's keys: they do not come back

	workers []int          // which
	signal  os.Signal      // that ends the workers
	answer  providerAnswer // of the provider
	wait    time.Duration  // that the provider asks for
	hangs   bool           // Redis: it stands still; otherwise it is killed
}

func (p awayPlan) String() string {
	var how string
	switch p.what {
	case workersAway:
		how = fmt.Sprintf(" %v, %s", p.workers, p.signal)
	case providerAway:
		how = fmt.Sprintf(", %s, Retry-After %s", p.answer, p.wait)
	case storeAway:
		how = ", killed"
		if p.hangs {
			how = ", hangs"
		}
	case queueLost, machineAway:
	}
	return fmt.Sprintf("%s away after %s for %s%s", p.what, p.from, p.lasts, how)
}

// plannedMessage is a message without its times. These are from the beginning of the story.
type plannedMessage struct {
	message.Message

	sendAt, shiftUntil time.Duration
	expires            time.Duration // zero for never
	submit             time.Duration // when; zero or less for before
}

// at returns the message in a story that began at a time.
func (p plannedMessage) at(began time.Time) message.Message {
	m := p.Message
	m.SendAt, m.ShiftUntil = began.Add(p.sendAt), began.Add(p.shiftUntil)
	if p.expires > 0 {
		m.ExpiresAt = began.Add(p.expires)
	}
	return m
}

// outagesPlan is what happens in a story.
type outagesPlan struct {
	away     []awayPlan
	messages []plannedMessage
}

func (p outagesPlan) String() string {
	lines := make([]string, len(p.away))
	for i, a := range p.away {
		lines[i] = a.String()
	}
	return strings.Join(lines, "\n")
}

// drawOutages draws one to three outages that overlap, and the messages of all users. The
// minute changes after quietAt.
func drawOutages(random *rand.Rand, quietAt time.Duration) outagesPlan {
	upTo := func(most time.Duration) time.Duration {
		return time.Duration(random.Int64N(int64(most))).Truncate(time.Millisecond)
	}
	var p outagesPlan
	kinds := []awayKind{workersAway, providerAway, storeAway, queueLost}
	random.Shuffle(len(kinds), func(i, k int) { kinds[i], kinds[k] = kinds[k], kinds[i] })
	for i, kind := range kinds[:1+random.IntN(3)] {
		around := []time.Duration{outagesTolerance, outagesLease, outagesExpiry}[random.IntN(3)]
		a := awayPlan{what: kind, from: 3*time.Second + upTo(5*time.Second), lasts: around/2 + upTo(around)}
		if i > 0 {
			a.from = p.away[0].from + upTo(p.away[0].lasts+time.Millisecond)
		}
		switch kind {
		case workersAway:
			a.workers = [][]int{{0, 1}, {0, 1}, {0}, {1}}[random.IntN(4)]
			a.signal = []os.Signal{os.Kill, syscall.SIGTERM}[random.IntN(2)]
		case providerAway:
			a.answer = []providerAnswer{answersError, answersTooMany, hangsUp, resets}[random.IntN(4)]
			a.wait = time.Duration(1+random.IntN(2)) * time.Second // headers have whole seconds
		case storeAway:
			a.hangs = random.IntN(2) == 0
		case queueLost:
			a.lasts = 0
		case machineAway: // nobody plans that
		}
		p.away = append(p.away, a)
	}
	for n := range outagesUsers {
		from, until := outagesFirst, outagesLast
		if quietBegins(n) {
			until = quietAt
		} else if quietEnds(n) {
			from = quietAt
		}
		for k := range outagesEach {
			m := plannedMessage{sendAt: from + upTo(until-from), shiftUntil: until, Message: message.Message{
				ID: fmt.Sprintf("m%d", k), User: fmt.Sprintf("user-%d", n), Title: "a",
				Category: []string{"", "", "other", "news"}[random.IntN(4)], OnConflict: message.OnConflictShift,
			}}
			if quietBegins(n) || random.IntN(3) == 0 {
				m.expires = m.sendAt + outagesExpiry/4 + upTo(outagesExpiry)
			}
			if random.IntN(3) == 0 {
				m.submit = m.sendAt - time.Second - upTo(outagesExpiry)
			}
			p.messages = append(p.messages, m)
		}
	}
	return p
}

// outagesExpiry is about how long after its time a message with an expiry expires.
const outagesExpiry = 6 * time.Second

// quietBegins and quietEnds report whether quiet hours of a user begin or end in the story.
func quietBegins(user int) bool { return user%5 == 3 }
func quietEnds(user int) bool   { return user%5 == 4 }
