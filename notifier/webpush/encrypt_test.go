package webpush_test

import (
	"crypto/ecdh"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/webpush"
)

// The vectors of RFC 8291, section 5 and appendix A.
func TestVectorsOfRFC8291(t *testing.T) {
	t.Parallel()
	bytes := func(text string) []byte {
		raw, err := base64.RawURLEncoding.DecodeString(text)
		require.NoError(t, err)
		return raw
	}
	receiver, err := webpush.ParseSubscription(`{"endpoint": "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", "keys": {
		"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
		"auth": "BTBZMqHH6r4Tts7J_aSIgg"}}`)
	require.NoError(t, err)
	sender, err := ecdh.P256().NewPrivateKey(bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	require.NoError(t, err)
	body, err := webpush.Seal(receiver, sender, bytes("DGv6ra1nlYgDCS1FRnbzlw"), []byte("When I grow up, I want to be a watermelon"))
	require.NoError(t, err)
	require.Equal(t, "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"+
		"mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"+
		"pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN", base64.RawURLEncoding.EncodeToString(body))
}

func TestGeneratedKeysWork(t *testing.T) {
	t.Parallel()
	pair, err := webpush.GenerateKeys()
	require.NoError(t, err)
	other, err := webpush.GenerateKeys()
	require.NoError(t, err)
	require.NotEqual(t, pair, other)
	require.Equal(t, pair.Public, open(t, webpush.Config{PrivateKey: pair.Private}).PublicKey())
	require.Len(t, pair.Public, 87)
	require.Len(t, pair.Private, 43)
}
