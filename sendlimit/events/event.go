package events

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Type says what happened to a message.
type Type string

// The types, as scripts spell them.
const (
	Delivered Type = "delivered" // the provider has it
	Postponed Type = "postponed" // it was late, and got a later time
	Dropped   Type = "dropped"   // not sent: too late, or the user does not want it
	Failed    Type = "failed"    // given up after its last attempt
	Uncertain Type = "uncertain" // given up; it may have been sent
	Moved     Type = "moved"     // it got another time, by a caller or an operator
	Cancelled Type = "cancelled" // it was released before it was sent
)

// Types lists all types.
func Types() []Type {
	return []Type{Delivered, Postponed, Dropped, Failed, Uncertain, Moved, Cancelled}
}

// Event is a change of a message. All times are UTC with milliseconds.
type Event struct {
	// ID is the id in the stream that the event was read from, "1732000000000-0". Later
	// events of a stream have greater ones, see Compare.
	ID string

	Type      Type
	Account   string // that was charged for the message; "" for none
	User      string
	MessageID string
	At        time.Time // when it happened
	SendAt    time.Time // the present or last send time
	// FormerSendAt is the send time before; of Postponed and Moved, else zero.
	FormerSendAt time.Time
	Reason       string // as in messages.Standing, why it was not delivered or delivered later; "" for none
	Attempt      int    // deliveries tried
	ProviderID   string // of Delivered: the provider's name for the message, if any
	Campaign     string
	Metadata     []byte // as submitted; nil for none
}

// fields returns the names and values of an event in a stream, in turns.
func (e Event) fields() []string {
	var fields []string
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, name, value)
		}
	}
	add(keyspace.EventType, string(e.Type))
	add(keyspace.EventUser, e.User)
	add(keyspace.EventMessage, e.MessageID)
	add(keyspace.EventAt, milliseconds(e.At))
	add(keyspace.EventSendAt, milliseconds(e.SendAt))
	add(keyspace.EventFormerSendAt, milliseconds(e.FormerSendAt))
	add(keyspace.EventReason, e.Reason)
	add(keyspace.EventProviderID, e.ProviderID)
	add(keyspace.EventAccount, e.Account)
	if e.Attempt != 0 {
		add(keyspace.EventAttempt, strconv.Itoa(e.Attempt))
	}
	add(keyspace.EventCampaign, e.Campaign)
	add(keyspace.EventMetadata, string(e.Metadata))
	return fields
}

func milliseconds(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(at.UnixMilli(), 10)
}

// eventOf reads an entry of a stream.
func eventOf(id string, values map[string]any, doing string) (Event, error) {
	names, texts := make([]string, 0, len(values)), make([]any, 0, len(values))
	for _, name := range fieldNames() {
		names, texts = append(names, name), append(texts, values[name])
	}
	f := script.ReadFields(names, texts)
	e := Event{
		ID: id, Type: Type(f.Text(keyspace.EventType)),
		Account: f.Text(keyspace.EventAccount), User: f.Text(keyspace.EventUser), MessageID: f.Text(keyspace.EventMessage),
		At: f.Time(keyspace.EventAt), SendAt: f.Time(keyspace.EventSendAt), FormerSendAt: f.Time(keyspace.EventFormerSendAt),
		Attempt: int(f.Int(keyspace.EventAttempt)), ProviderID: f.Text(keyspace.EventProviderID),
		Campaign: f.Text(keyspace.EventCampaign),
	}
	// What follows the first word names the rule in the way.
	e.Reason, _, _ = strings.Cut(f.Text(keyspace.EventReason), " ")
	if metadata := f.Text(keyspace.EventMetadata); metadata != "" {
		e.Metadata = []byte(metadata)
	}
	if e.Type == "" || e.User == "" || e.MessageID == "" {
		f.Fail(fmt.Sprintf("event %s has no type, user or message", id))
	}
	return e, f.Err(doing)
}

// fieldNames lists the fields of an event.
func fieldNames() []string {
	return []string{
		keyspace.EventType, keyspace.EventUser, keyspace.EventMessage, keyspace.EventAccount, keyspace.EventAt,
		keyspace.EventSendAt, keyspace.EventFormerSendAt, keyspace.EventReason, keyspace.EventAttempt,
		keyspace.EventProviderID, keyspace.EventCampaign, keyspace.EventMetadata,
	}
}

// Compare compares two ids of a stream: negative if a is before b. "" is before all others.
func Compare(a, b string) int {
	aMS, aNumber, _ := ParseID(a)
	bMS, bNumber, _ := ParseID(b)
	return cmp.Or(cmp.Compare(aMS, bMS), cmp.Compare(aNumber, bNumber))
}

// ParseID takes an id of a stream apart, "1732000000000-0". ok is false if it is none.
func ParseID(id string) (ms, number uint64, ok bool) {
	before, after, ok := strings.Cut(id, "-")
	ms, err := strconv.ParseUint(before, 10, 64)
	if !ok || err != nil {
		return 0, 0, false
	}
	number, err = strconv.ParseUint(after, 10, 64)
	return ms, number, err == nil
}

// Oldest stands for the beginning of what is kept, in place of an id to read after. So does "".
const Oldest = "0"

// checkAfter checks an id to read after, and returns it; "" for the beginning.
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
