package store

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Transaction runs the commands that queue adds, all or none. If the server refuses one of them, as
// while it loads its data, the error is the one of that command: the reply to the transaction does
// not say why it was discarded.
func Transaction(ctx context.Context, client redis.Cmdable, queue func(redis.Pipeliner) error) error {
	commands, err := client.TxPipelined(ctx, queue)
	for _, command := range commands {
		if refused := command.Err(); redis.IsExecAbortError(err) && refused != nil {
			err = refused
		}
	}
	if err != nil {
		return fmt.Errorf("transaction: %w", err)
	}
	return nil
}
