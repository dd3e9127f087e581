package channels_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/reload"
)

// A secret is replaced by way of both while pushes go on: none is refused, whichever side is first.
func TestASecretIsReplacedWhilePushesGoOn(t *testing.T) {
	t.Parallel()
	const former, next = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_OTg3NjU0MzIxMDk4NzY1NDMyMTA5ODc2NTQzMjEwOTg="
	for _, steps := range [][]string{
		{"worker both", "receiver next", "worker next"},
		{"receiver both", "worker next", "receiver next"},
	} {
		var accepted atomic.Pointer[string] // secrets of the receiver
		accepted.Store(new(former))
		receiver := notifiertest.NewReceiver(time.Now)
		t.Cleanup(receiver.Close)
		receiver.AnswerWith(func(r notifiertest.Request) notifiertest.Answer {
			for secret := range strings.FieldsSeq(*accepted.Load()) {
				if verifier, err := standardwebhooks.NewWebhook(secret); err == nil && verifier.Verify(r.Body, r.Header) == nil {
					return notifiertest.Answer{}
				}
			}
			return notifiertest.Answer{Status: http.StatusUnauthorized}
		})
		file, told := filepath.Join(t.TempDir(), "secret"), make(chan error, 1)
		replace := func(secrets string) {
			require.NoError(t, os.WriteFile(file+".new", []byte(secrets), 0o600))
			require.NoError(t, os.Rename(file+".new", file))
		}
		replace(former)
		worker, err := reload.New(t.Context(), reload.Options{
			File: file, Every: time.Millisecond, Reloaded: func(err error) { told <- err },
			Open: func(content []byte) (notifier.Notifier, error) {
				return channels.OpenTarget(config.Config{PushURL: receiver.URL(), PushSecret: config.Secret(content)}, time.Now, new(bytes.Buffer))
			},
		})
		require.NoError(t, err)

		var pushed [4]atomic.Int64
		var refused atomic.Int64
		var over atomic.Bool
		var pushing sync.WaitGroup
		for i := range pushed {
			pushing.Go(func() {
				for !over.Load() {
					if worker.Notify(t.Context(), notification()).Status != notifier.Delivered {
						refused.Add(1)
					}
					pushed[i].Add(1)
				}
			})
		}
		goOn := func() { // also what was on its way
			for i := range pushed {
				before := pushed[i].Load()
				require.Eventually(t, func() bool { return pushed[i].Load() >= before+25 }, time.Minute, time.Millisecond)
			}
		}
		goOn()
		for _, step := range steps {
			side, which, _ := strings.Cut(step, " ")
			secrets := map[string]string{"both": former + "\n" + next, "next": next}[which]
			if side == "worker" {
				replace(secrets)
				require.NoError(t, <-told)
			} else {
				accepted.Store(&secrets)
			}
			goOn()
		}
		over.Store(true)
		pushing.Wait()
		require.Zero(t, refused.Load(), steps)
		require.NoError(t, worker.Close())
	}
}
