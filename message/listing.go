package message

import (
	"time"
)

// Messages is a page of messages, without their histories. Of the contents it may have titles.
type Messages struct {
	Messages   []Status `json:"messages" doc:"Those of one user by send time, then id; those of all users in no particular order."`
	NextCursor string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// Found is a page of the messages with an id, of all users.
type Found struct {
	Messages   []Status `json:"messages" doc:"One for each user that has the id, in no particular order."`
	NextCursor string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// DeadLetters is a page of messages that were given up, without their contents.
type DeadLetters struct {
	DeadLetters []Status `json:"dead_letters" doc:"By the time they ended, the oldest first."`
	NextCursor  string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// FreeTimes is the list of the next free times of a user.
type FreeTimes struct {
	Times []FreeTime `json:"times" doc:"Fewer than requested if no more are free within the reach."`
}

// FreeTime is a time that is free for a user.
type FreeTime struct {
	User   string `json:"user" doc:"The user's name."`
	FreeAt Time   `json:"free_at" doc:"A time that is free."`
}

// FreeTimesOf returns times as the free times of a user.
func FreeTimesOf(user string, times []time.Time) []FreeTime {
	free := make([]FreeTime, len(times))
	for i, at := range times {
		free[i] = FreeTime{User: user, FreeAt: Time{at}}
	}
	return free
}
