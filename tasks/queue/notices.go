package queue

import (
	"context"
	"log/slog"
	"time"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// EnqueueNotice puts a notice into the queue, to be announced at due; a zero due
// means at once. A notice may have several tasks: the claim lets one deliver it.
func (q *Queue) EnqueueNotice(ctx context.Context, id string, due time.Time) error {
	name, err := q.ofNotice(ctx, id)
	if err != nil {
		return err
	}
	err = q.enqueue(ctx, name, TypeAlert, keyspace.NewToken(), AlertPayload{Version: alertVersion, Notice: id}, due)
	return store.Explain(err, "handing an alert to the queue")
}

// ofNotice returns the queue of a notice: that of the partition that has it.
func (q *Queue) ofNotice(ctx context.Context, id string) (string, error) {
	notice, _ := notices.ParseID(id) // any queue is right for what is no notice
	return q.ofUser(ctx, notice.Owner())
}

// EnqueueNotices puts notices into the queue, to be announced at once. It logs a
// failure and returns: the outbox has the notices, and the next look finds them.
func (q *Queue) EnqueueNotices(ctx context.Context, ids []string, logger *slog.Logger) {
	for _, id := range ids {
		if err := q.EnqueueNotice(ctx, id, time.Time{}); err != nil {
			logger.WarnContext(ctx, "the queue did not accept an alert: the outbox has it", "error", err)
			return
		}
	}
}
