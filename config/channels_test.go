package config_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/config"
)

func TestWrongSettingsOfChannels(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"SENDLIMIT_FCM_ENDPOINT=http://fcm.example.com":        `fcm.endpoint "http://fcm.example.com" is not allowed: use an https URL of a host, such as https://push.example.com; on loopback http is allowed (given by SENDLIMIT_FCM_ENDPOINT)`,
		"SENDLIMIT_APNS_ENDPOINT=https://u:s3cret@example.com": `apns.endpoint "https://example.com/…" is not allowed: use an https URL of a host, such as https://push.example.com; on loopback http is allowed (given by SENDLIMIT_APNS_ENDPOINT)`,
		"SENDLIMIT_APNS_TOPICS=driver":                         `apns.topics "driver" is not allowed: use a list of APP=BUNDLE such as driver=com.example.driver (given by SENDLIMIT_APNS_TOPICS)`,
		"SENDLIMIT_APNS_CONNECTIONS=0":                         `apns.connections "0" is not allowed: use a whole number from 1 to 100 (given by SENDLIMIT_APNS_CONNECTIONS)`,
	} {
		require.EqualError(t, rejected(t, []string{given}, ""), want)
	}
}

func TestCredentialsAreGivenOnce(t *testing.T) {
	t.Parallel()
	for text, file := range map[string]string{
		"fcm.credentials": "fcm.credentials_file", "apns.key": "apns.key_file", "webpush.private_key": "webpush.private_key_file",
	} {
		problem := rejected(t, []string{variable(text) + "=s3cret", variable(file) + "=a"}, "")
		require.EqualError(t, problem, fmt.Sprintf("%s and %s are both given: give one of them", text, file))
	}
}

// With a channel to devices and no push_url, there is no target beside it.
func TestAChannelToDevicesIsATarget(t *testing.T) {
	t.Parallel()
	c, err := config.Load(nil, []string{"SENDLIMIT_APNS_KEY_FILE=a.p8"}, "")
	require.NoError(t, err)
	require.True(t, c.HasDeviceChannel())
	require.Empty(t, c.PushTarget())

	c, err = config.Load(nil, []string{"SENDLIMIT_APNS_KEY_FILE=a.p8", "SENDLIMIT_PUSH_URL=http://h"}, "")
	require.NoError(t, err)
	require.Equal(t, "http://h", c.PushTarget())
}
