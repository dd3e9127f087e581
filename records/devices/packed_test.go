package devices_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/devices"
)

// A point on P-256 and 16 bytes, as browsers write them: those of RFC 8291, appendix A.
const (
	p256dh       = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
	auth         = "BTBZMqHH6r4Tts7J_aSIgg"
	subscription = `{"endpoint":"https://push.example.net/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV","keys":{"p256dh":"` + p256dh + `","auth":"` + auth + `"}}`
)

var apnsToken = strings.Repeat("0123456789abcdef", 4) //nolint:globals // a constant

func threeDevices() []devices.Device {
	at := time.Date(2026, 7, 1, 11, 11, 11, 0, time.UTC)
	return []devices.Device{
		{ID: "phone", Channel: devices.FCM, Address: "dK3:APA91b-_x", RegisteredAt: at},
		{
			ID: "Tablet.2", Channel: devices.APNs, Address: apnsToken, RegisteredAt: at.Add(time.Second), Locale: "pt-BR",
			App: "com.example.App", Account: "acme", LastSuccess: at.Truncate(time.Hour), Suspect: true,
		},
		{ID: "w_-", Channel: devices.WebPush, Address: subscription, RegisteredAt: at.Add(2 * time.Second)},
	}
}

// Stored devices must stay readable, so the format never changes.
func TestTheFormatIsPinned(t *testing.T) {
	t.Parallel()
	packed, err := devices.Encode(threeDevices())
	require.NoError(t, err)
	require.Equal(t, "phone f thhtqn     dK3:APA91b-_x\n"+
		"Tablet.2 A thhtqo am4z com.example.App pt-BR acme "+apnsToken+"\n"+
		"w_- w thhtqp     "+subscription, packed)
	decoded, err := devices.Decode(packed)
	require.NoError(t, err)
	require.Equal(t, threeDevices(), decoded)

	packed, err = devices.Encode(nil)
	require.NoError(t, err)
	require.Empty(t, packed)
	decoded, err = devices.Decode("")
	require.NoError(t, err)
	require.Empty(t, decoded)
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const good = "phone f tebnzz     canary"
	_, err := devices.Decode(good)
	require.NoError(t, err)
	for packed, says := range map[string]string{
		"\n":                                   "device 1 of a user: it has not 8 fields",
		good + "\n":                            "device 2 of a user: it has not 8 fields",
		good + "\n" + good:                     "device 2 of a user: another one has its id",
		good + " ":                             "device 1 of a user: it has not 8 fields",
		"phone f tebnzz    canary":             "device 1 of a user: it has not 8 fields",
		"phone x tebnzz     canary":            "device 1 of a user: its channel is unknown",
		"phone  tebnzz     canary":             "device 1 of a user: its channel is unknown",
		"phone ff tebnzz     canary":           "device 1 of a user: its channel is unknown",
		"phone f      canary":                  "device 1 of a user: a time is not a number in base 36",
		"phone f 0tebnzz     canary":           "device 1 of a user: a time is not a number in base 36",
		"phone f TEBNZZ     canary":            "device 1 of a user: a time is not a number in base 36",
		"phone f -1     canary":                "device 1 of a user: a time is not a number in base 36",
		"phone f zzzzzzzz     canary":          "device 1 of a user: a time is not a number in base 36",
		"phone f tebnzz !    canary":           "device 1 of a user: a time is not a number in base 36",
		"phone f tebnzz zzzzzz    canary":      "device 1 of a user: a time is not a number in base 36",
		"@phone f tebnzz     canary":           "device 1 of a user: a field is out of bounds",
		" f tebnzz     canary":                 "device 1 of a user: a field is out of bounds",
		"phone f tebnzz  a/b   canary":         "device 1 of a user: a field is out of bounds",
		"phone f tebnzz   d  canary":           "device 1 of a user: a field is out of bounds",
		"phone f tebnzz    ACME  canary":       "device 1 of a user: it has not 8 fields",
		"phone f tebnzz    ACME canary":        "device 1 of a user: a field is out of bounds",
		"phone f tebnzz     ":                  "device 1 of a user: a field is out of bounds",
		"phone f tebnzz     canary\x00":        "device 1 of a user: a field is out of bounds",
		"phone f tebnzz     canary\r\n" + good: "device 1 of a user: a field is out of bounds",
	} {
		_, err := devices.Decode(packed)
		require.EqualError(t, err, says, "%q", packed)
	}
}

// What Decode accepts, it accepts in one spelling, and no error shows an address.
func FuzzDecode(f *testing.F) {
	packed, err := devices.Encode(threeDevices())
	require.NoError(f, err)
	f.Add(packed)
	f.Add("phone f tebnzz     token")
	f.Add("phone F tebnzz a b c d token\n")
	f.Fuzz(func(t *testing.T, packed string) {
		decoded, err := devices.Decode(packed)
		if err != nil {
			require.Regexp(t, `^device \d+ of a user: [a-z0-9 ]+$`, err.Error())
			return
		}
		for _, d := range decoded {
			without := d
			without.Address = ""
			require.Equal(t, fmt.Sprintf("%v %+v %#v", without, &without, without), fmt.Sprintf("%v %+v %#v", d, &d, d))
		}
		require.Equal(t, packed, devices.EncodeAsIs(decoded))
	})
}
