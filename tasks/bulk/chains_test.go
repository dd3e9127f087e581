package bulk_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
)

// The lines of the user who has most do not begin when all others are done.
func TestALongChainBeginsInTime(t *testing.T) {
	t.Parallel()
	const (
		lanes, window = 8, 4096
		each          = time.Millisecond
		others        = 3000 // a line each
		long          = 350  // 350 ms in a row, in 419 ms of work for all lanes
	)
	for name, file := range map[string]*file{
		"at the beginning":  {end: io.EOF, users: append(the("whale", long), several(others)...)},
		"at the end":        {end: io.EOF, users: append(several(others), the("whale", long)...)},
		"between the lines": {end: io.EOF, users: mixed(several(others), the("whale", long))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got := &sink{}
				err := bulk.Run(t.Context(), file.next, func(ctx context.Context, m message.Message) (message.Outcome, error) {
					time.Sleep(each)
					return accept(ctx, m)
				}, got, bulk.Options{Lanes: lanes, Window: window})
				require.NoError(t, err)
				got.requireFirst(t, len(file.users)+1)
				best := time.Duration((others + long) / lanes * int(each))
				require.InDelta(t, best.Milliseconds(), time.Since(began).Milliseconds(), float64(best.Milliseconds())*0.1,
					"no more than a tenth above what the work takes on all lanes")
			})
		})
	}
}

func the(user string, lines int) []string {
	users := make([]string, lines)
	for i := range users {
		users[i] = user
	}
	return users
}

func several(users int) []string {
	all := make([]string, users)
	for i := range all {
		all[i] = fmt.Sprint("user-", i)
	}
	return all
}

// mixed spreads the few evenly among the many.
func mixed(many, few []string) []string {
	var all []string
	every := len(many) / len(few)
	for i, user := range many {
		all = append(all, user)
		if i%every == 0 && i/every < len(few) {
			all = append(all, few[i/every])
		}
	}
	return all
}
