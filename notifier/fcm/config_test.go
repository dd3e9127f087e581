package fcm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	_, err := fcm.New(fcm.Config{
		Credentials: []byte(`{"type": "authorized_user", "project_id": "../secret", "private_key": "secret", "token_uri": "http://example.com/secret"}`),
		Endpoint:    "http://secret@example.com", Timeout: -1,
	})
	for _, want := range []string{
		"credentials.type", "credentials.project_id", "credentials.client_email", "credentials.private_key", "credentials.token_uri",
		"endpoint", `timeout "-1ns"`, "clock",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "secret")
	_, err = fcm.New(fcm.Config{Credentials: []byte("secret"), Now: time.Now})
	var invalid *notifier.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "credentials", invalid.Field)
	require.NotContains(t, err.Error(), "secret")
}

func TestWhereSecretsAreSent(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	for target, allowed := range map[string]bool{
		"https://oauth2.googleapis.com": true, "https://127.0.0.1:8443": true, "http://127.0.0.1:9099": true, "http://[::1]:9099": true,
		"http://localhost:9099": true, "http://example.com": false, "http://10.0.0.1": false, "http://127.0.0.1.example.com": false,
		"http://localhost.example.com": false, "ftp://127.0.0.1": false, "https://": false, "": false, "https://robot:secret@example.com": false,
		"//example.com": false,
	} {
		_, err := fcm.New(fcm.Config{Credentials: edited(t, s, map[string]any{"token_uri": target + "/token"}), Now: time.Now})
		require.Equal(t, allowed, err == nil, "%q: %v", target, err)
		if target == "" {
			continue // the default
		}
		credentials, err := s.Credentials()
		require.NoError(t, err)
		for path, sound := range map[string]bool{"": true, "/": true, "/v1": false, "?x": false} {
			_, err = fcm.New(fcm.Config{Credentials: credentials, Endpoint: target + path, Now: time.Now})
			require.Equal(t, allowed && sound, err == nil, "%q: %v", target+path, err)
		}
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	identity := func(c fcm.Config) string { return open(t, s, c).Identity() }
	first := identity(fcm.Config{Endpoint: fcm.DefaultEndpoint})
	require.Regexp(t, `^shop-1234/[0-9a-f]{16} at fcm\.googleapis\.com$`, first)
	require.Equal(t, first, identity(fcm.Config{Endpoint: fcm.DefaultEndpoint, Timeout: time.Minute}))
	for name, value := range map[string]string{"client_email": "other@example.com", "project_id": "other", "private_key_id": "other"} {
		require.NotEqual(t, first, identity(fcm.Config{Endpoint: fcm.DefaultEndpoint, Credentials: edited(t, s, map[string]any{name: value})}), name)
	}
	require.NotEqual(t, first, identity(fcm.Config{}), "another endpoint")
}
