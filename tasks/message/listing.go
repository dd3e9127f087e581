package message

import (
	"time"
)

// Listed is a message of a list. Status says more about one message.
type Listed struct {
	ID     string `json:"id"`
	User   string `json:"user"`
	SendAt Time   `json:"send_at"`
	// Status is empty if the message has a place and nothing more is known.
	Status   string `json:"status,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	Reason   string `json:"reason,omitempty"` // as in Status

	Campaign string            `json:"campaign,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// ListedOf returns the part of a status that a list has.
func ListedOf(s Status) Listed {
	return Listed{
		ID: s.ID, User: s.User, SendAt: s.SendAt, Status: s.Status, Attempts: s.Attempts, Reason: s.Reason,
		Campaign: s.Campaign, Metadata: s.Metadata,
	}
}

// Messages is a page of a user's messages.
type Messages struct {
	Messages   []Listed `json:"messages"`
	NextCursor string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// Found is a page of the messages with an id, of all users.
type Found struct {
	Messages   []Status `json:"messages"`
	NextCursor string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// DeadLetters is a page of messages that were given up, without their contents.
type DeadLetters struct {
	DeadLetters []Status `json:"dead_letters"`
	NextCursor  string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// FreeTimes is the list of the next free times of a user.
type FreeTimes struct {
	Times []FreeTime `json:"times" doc:"Fewer than requested if no more are free within the reach."`
}

// FreeTime is a time that is free for a user.
type FreeTime struct {
	User   string `json:"user"`
	FreeAt Time   `json:"free_at"`
}

// FreeTimesOf returns times as the free times of a user.
func FreeTimesOf(user string, times []time.Time) []FreeTime {
	free := make([]FreeTime, len(times))
	for i, at := range times {
		free[i] = FreeTime{User: user, FreeAt: Time{at}}
	}
	return free
}
