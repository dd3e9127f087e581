package client

import (
	"context"
	"iter"

	"github.com/sendlimit/sendlimiter/message"
)

// RecordSent records messages that another system has sent, each at its SendAt in the past. Nothing
// is judged, charged or delivered, but they count when later messages are judged. Title and Body
// are optional. The key needs the scope admin.
//
// Results come as SubmitBatch yields them; Accepted means recorded. A message that was already
// recorded under its id is Replayed.
func (c *Client) RecordSent(ctx context.Context, messages iter.Seq[Message]) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		b := &batch{client: c, call: call{doing: "record sends", path: batchPath + "/record-sent", success: message.Recorded}}
		b.start(ctx, messages, nil, yield)
	}
}
