package message

import (
	"time"
)

// Messages is a page of messages, without histories. It may have titles.
type Messages struct {
	Messages   []Status `json:"messages" doc:"The messages of one user are sorted by send time, then id; those of all users are not sorted."`
	NextCursor string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// Found is a page of the messages of all users with an id.
type Found struct {
	Messages   []Status `json:"messages" doc:"One for each user with the id, not sorted."`
	NextCursor string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// DeadLetters is a page of dead letters, without contents.
type DeadLetters struct {
	DeadLetters []Status `json:"dead_letters" doc:"By the end time, the oldest first."`
	NextCursor  string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// FreeTimes lists the next free times of a user.
type FreeTimes struct {
	Times []FreeTime `json:"times" doc:"Fewer than requested if no more are free within the reach."`
}

// FreeTime is a time that is free for a user.
type FreeTime struct {
	User   string `json:"user" doc:"The user's name."`
	FreeAt Time   `json:"free_at" doc:"A free time."`
}

// FreeTimesOf returns the times as free times of a user.
func FreeTimesOf(user string, times []time.Time) []FreeTime {
	free := make([]FreeTime, len(times))
	for i, at := range times {
		free[i] = FreeTime{User: user, FreeAt: Time{at}}
	}
	return free
}
