package queue

import (
	"context"
	"log/slog"
	"time"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// EnqueueNotice puts a notice into the queue, to be delivered at due; zero means at once. A notice
// may have several tasks: only one can claim it.
func (q *Queue) EnqueueNotice(ctx context.Context, id string, due time.Time) error {
	notice, _ := notices.ParseID(id) // any queue will do for an invalid id
	name, err := q.ofUser(ctx, notice.Owner())
	if err != nil {
		return err
	}
	err = q.enqueue(ctx, name, TypeAlert, keyspace.NewToken(), AlertPayload{Version: alertVersion, Notice: id}, due)
	return store.Explain(err, "handing an alert to the queue")
}

// EnqueueNotices puts notices into the queue, to be delivered at once. It logs the first
// failure and returns: workers find the notices in the outbox.
func (q *Queue) EnqueueNotices(ctx context.Context, ids []string, logger *slog.Logger) {
	for _, id := range ids {
		if err := q.EnqueueNotice(ctx, id, time.Time{}); err != nil {
			logger.WarnContext(ctx, "the queue did not accept an alert: the outbox has it", "error", err)
			return
		}
	}
}
