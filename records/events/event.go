package events

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Type is the type of an event.
type Type string

// The types, as scripts spell them.
const (
	Delivered Type = "delivered" // the provider accepted it
	Postponed Type = "postponed" // it was late, and got a later time
	Dropped   Type = "dropped"   // not sent: too late, or the user does not want it
	Failed    Type = "failed"    // given up after its last attempt
	Uncertain Type = "uncertain" // given up; it may have been sent
	Moved     Type = "moved"     // a caller or an operator changed its time
	Replaced  Type = "replaced"  // another message took its id, see sendlimit.Replacement
	Cancelled Type = "cancelled" // it was released before it was sent
)

// Event is a change of a message. All times are UTC with milliseconds.
type Event struct {
	// ID is the id in the stream of the event, "1732000000000-0". Ids ascend, see Compare.
	ID string

	Type      Type
	Account   string // charged for the message; "" for none
	User      string
	MessageID string
	At        time.Time // when it happened
	SendAt    time.Time // the current or last send time
	// FormerSendAt is the previous send time of Postponed, Moved and Replaced; otherwise zero.
	FormerSendAt time.Time
	RequestedAt  time.Time // as in messages.Info
	// Reason is why it was not delivered or got another time; "" for none. policy.ReadLate reads
	// that of Postponed.
	Reason     string
	Attempt    int    // number of deliveries
	ProviderID string // the provider's id of a Delivered message, if there is one
	Campaign   string
	Metadata   []byte // as submitted; nil for none
	Asked      string // the local time or window that was asked for, as in sendlimit.Record.Local; "" for none
}

// lines returns the names of the lines of the field EventLines, as lua/fragments/event.lua has
// them. The last one extends to the end.
func lines() []string {
	return []string{
		"type", "account", "user", "message", "at", "send time", "former send time", "requested", "attempt", "campaign", "rest",
	}
}

// fields returns the fields of the event in a stream.
func (e Event) fields() map[string]any {
	attempt, rest := "", e.Reason
	if e.Attempt != 0 {
		attempt = strconv.Itoa(e.Attempt)
	}
	if e.Type == Delivered {
		rest = e.ProviderID
	}
	fields := map[string]any{keyspace.EventLines: strings.Join([]string{
		string(e.Type), e.Account, e.User, e.MessageID, milliseconds(e.At), milliseconds(e.SendAt), milliseconds(e.FormerSendAt),
		milliseconds(e.RequestedAt), attempt, e.Campaign, rest,
	}, "\n")}
	if len(e.Metadata) > 0 {
		fields[keyspace.EventMetadata] = string(e.Metadata)
	}
	if e.Asked != "" {
		fields[keyspace.EventAsked] = e.Asked
	}
	return fields
}

func milliseconds(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(at.UnixMilli(), 10)
}

// linesOf reads the lines of an entry. Missing lines are empty.
func linesOf(fields map[string]any) *script.Fields {
	text, _ := fields[keyspace.EventLines].(string)
	names, values := lines(), make([]any, len(lines()))
	for i, line := range strings.SplitN(text, "\n", len(names)) {
		values[i] = line
	}
	return script.ReadFields(names, values)
}

// IsOf reports whether an entry of a stream is an event of a user.
func IsOf(user string, entry redis.XMessage) bool { return linesOf(entry.Values).Text("user") == user }

// eventOf reads an entry of a stream.
func eventOf(id string, fields map[string]any, doing string) (Event, error) {
	f := linesOf(fields)
	e := Event{
		ID: id, Type: Type(f.Text("type")), Account: f.Text("account"), User: f.Text("user"), MessageID: f.Text("message"),
		At: f.Time("at"), SendAt: f.Time("send time"), FormerSendAt: f.Time("former send time"), RequestedAt: f.Time("requested"),
		Attempt: int(f.Int("attempt")), Campaign: f.Text("campaign"),
	}
	if e.Type == Delivered {
		e.ProviderID = f.Text("rest")
	} else {
		e.Reason = f.Text("rest")
	}
	if metadata, _ := fields[keyspace.EventMetadata].(string); metadata != "" {
		e.Metadata = []byte(metadata)
	}
	e.Asked, _ = fields[keyspace.EventAsked].(string)
	if e.Type == "" || e.User == "" || e.MessageID == "" {
		f.Fail(fmt.Sprintf("event %s has no type, user or message", id))
	}
	return e, f.Err(doing)
}

// Compare compares two ids of a stream: negative if a comes before b. "" comes before all others.
func Compare(a, b string) int {
	aMS, aNumber, _ := ParseID(a)
	bMS, bNumber, _ := ParseID(b)
	return cmp.Or(cmp.Compare(aMS, bMS), cmp.Compare(aNumber, bNumber))
}

// ParseID reads an id of a stream, "1732000000000-0". ok is false if it is not valid.
func ParseID(id string) (ms, number uint64, ok bool) {
	before, after, ok := strings.Cut(id, "-")
	ms, err := strconv.ParseUint(before, 10, 64)
	if !ok || err != nil {
		return 0, 0, false
	}
	number, err = strconv.ParseUint(after, 10, 64)
	return ms, number, err == nil
}

// Oldest means the beginning of the kept events, as an id to read after. So does "".
const Oldest = "0"

// checkAfter returns an id to read after; "" for the beginning.
func checkAfter(id string) (string, error) {
	if id == Oldest {
		return "", nil
	}
	if _, _, ok := ParseID(id); id != "" && !ok {
		return "", &fault.InvalidError{
			Field: "after", Value: id, Want: `the id of an event such as "1732000000000-0", or 0 for all that are kept`,
		}
	}
	return id, nil
}
