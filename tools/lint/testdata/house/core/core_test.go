package core

import (
	"context"
	"os"
	"testing"
	"time"
)

func TestA(t *testing.T) {
	_ = time.Now()
	_ = context.Background()    /* want t.Context */
	_, _ = os.MkdirTemp("", "") /* want t.TempDir */
	if testing.Short() {        /* want sendlimittest.Long */
		go func() { /* want the goroutine calls T.Fatal */
			t.Fatal() /* want non-test goroutine */
		}()
	}
}
