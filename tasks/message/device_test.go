package message_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

func TestMaskedAddresses(t *testing.T) {
	t.Parallel()
	for address, masked := range map[string]string{
		strings.Repeat("x", 26) + "123456": "…123456",
		strings.Repeat("x", 25) + "123456": "…",
		"":                                 "…",
		`{"endpoint":"https://push.example.net/secret"}`:  "https://push.example.net/…",
		`{"endpoint":"/` + strings.Repeat("s", 40) + `"}`: "…" + `ssss"}`,
	} {
		require.Equal(t, masked, message.MaskAddress(address))
	}
}
