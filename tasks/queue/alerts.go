package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// TypeAlert is the type of the task that announces a notice: an alert, a digest
// or a report.
const TypeAlert = "quota:alert"

// AlertPayload is what such a task carries: which notice, and no content, which
// lives in the outbox.
type AlertPayload struct {
	Version int    `json:"v"`
	Notice  string `json:"notice"`
}

// alertVersion is the version of AlertPayload that this program writes, and the
// newest it reads.
const AlertVersion = 1

// decodeAlert reads the payload of a task; of one that a newer program wrote no
// more than its version.
func DecodeAlert(text []byte) (AlertPayload, error) {
	var newer struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(text, &newer); err != nil {
		return AlertPayload{}, fmt.Errorf("payload of an alert: %w", err)
	}
	if newer.Version < 1 {
		return AlertPayload{}, errors.New("payload of an alert: it has no version")
	}
	if newer.Version > AlertVersion {
		return AlertPayload{Version: newer.Version}, nil
	}
	var p AlertPayload
	if err := json.Unmarshal(text, &p); err != nil {
		return AlertPayload{}, fmt.Errorf("payload of an alert: %w", err)
	}
	return p, nil
}

// announce hands a notice to the queue, to be delivered at due; a zero due means
// at once. Its task has an id of its own, never used before: of several tasks of
// one notice the claim lets one deliver.
func (q *Queue) Announce(ctx context.Context, id string, due time.Time) error {
	payload, err := json.Marshal(AlertPayload{Version: AlertVersion, Notice: id})
	if err != nil {
		return fmt.Errorf("payload of an alert: %w", err)
	}
	options := []asynq.Option{
		asynq.Queue(q.name), asynq.TaskID(keyspace.NewToken()), asynq.MaxRetry(maxStoreRetries), asynq.Timeout(taskTimeout),
	}
	if !due.IsZero() {
		options = append(options, asynq.ProcessAt(due))
	}
	ctx, cancel := context.WithTimeout(ctx, EnqueueWithin)
	defer cancel()
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(TypeAlert, payload), options...)
	return store.Explain(err, "handing a notice to the queue")
}

// announceAll hands the notices that a change has raised to the queue. A failure
// changes nothing: they are in the outbox, and the relay finds them.
func (q *Queue) AnnounceAll(ctx context.Context, ids []string, logger *slog.Logger) {
	for _, id := range ids {
		if err := q.Announce(ctx, id, time.Time{}); err != nil {
			logger.WarnContext(ctx, "the queue did not take a notice: the outbox has it", "error", err)
			return
		}
	}
}
