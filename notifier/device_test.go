package notifier_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

func TestAnAddressIsNotPrinted(t *testing.T) {
	t.Parallel()
	d := notifier.Device{ID: "d1", Channel: "apns", Address: "canary"}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("failed", "device", d, "pointer", &d)
	for _, printed := range []string{
		log.String(), fmt.Sprint(d), fmt.Sprint(&d), fmt.Sprintf("%+v", notifier.Notification{Device: &d}),
	} {
		require.NotContains(t, printed, "canary")
	}
	require.Equal(t, "apns device d1", d.String())
}
