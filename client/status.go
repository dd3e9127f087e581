package client

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// The statuses. There may be more one day.
const (
	StatusScheduled = "scheduled"
	StatusPostponed = "postponed" // late, and then the rules had no room: from PromisedAt to SendAt
	StatusMoved     = "moved"     // from MovedFrom to SendAt
	StatusSending   = "sending"
	StatusDelivered = "delivered"
	StatusDropped   = "dropped"   // not sent: Reason
	StatusFailed    = "failed"    // given up after its last attempt: a dead letter
	StatusUncertain = "uncertain" // nobody knows whether it arrived: a dead letter
	StatusCancelled = "cancelled"
)

// Status is what became of a message. Times that say nothing are zero.
type Status struct {
	ID     string `json:"id"`
	User   string `json:"user"`
	Status string `json:"status"` // "" in a list where there is a place and nothing more is known
	// SendAt is the send time: to come, or the last one there was. RequestedAt is
	// what the caller asked for, PromisedAt what it was before the message was
	// postponed or sent late, MovedFrom what it was before the last move, each
	// where it differs.
	SendAt      time.Time `json:"send_at"`
	RequestedAt time.Time `json:"requested_at"`
	PromisedAt  time.Time `json:"promised_at"`
	MovedFrom   time.Time `json:"moved_from"`
	Shifted     bool      `json:"shifted"`
	ExpiresAt   time.Time `json:"expires_at"` // what the caller set

	// Of a delivered message: when its delivery began, by how much that was
	// after the time promised, and the provider's name for it.
	DeliveredAt time.Time `json:"delivered_at"`
	LatenessMS  int64     `json:"lateness_ms"`
	ProviderID  string    `json:"provider_id"`

	EndedAt   time.Time `json:"ended_at"`    // of one that ended otherwise
	NextTryAt time.Time `json:"next_try_at"` // of one that failed and is tried again
	Attempts  int       `json:"attempts"`    // deliveries tried
	Reason    string    `json:"reason"`      // why it was dropped, given up, postponed or is tried again
	Category  string    `json:"category"`
	Account   string    `json:"account"` // who was charged for it; "" for nobody
	// Uncertain is true where a try before may have arrived, though nobody knows.
	Uncertain bool `json:"uncertain"`
}

// Status says what became of a message. The error is ErrNotFound where nothing
// is known of it.
func (c *Client) Status(ctx context.Context, user, id string) (Status, error) {
	const doing = "asking for a message"
	path, err := messagePath(user, "messages", id)
	if err != nil {
		return Status{}, fmt.Errorf("%s: %w", doing, err)
	}
	var s Status
	err = c.do(ctx, call{doing: doing, method: http.MethodGet, path: path}, &s)
	return s, err
}
