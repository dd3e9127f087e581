package fcm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/fcm"
)

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	s := newServer(t, time.Now)
	good, err := s.Credentials()
	require.NoError(t, err)
	changed := func(old, replaced string) []byte { return []byte(strings.Replace(string(good), old, replaced, 1)) }
	const wantAccount = `credentials "(not shown)" is not allowed: it takes the JSON of a service account with type, project_id, client_email, private_key_id and an RSA private_key`
	for name, row := range map[string]struct {
		config fcm.Config
		want   string
	}{
		"nothing":         {fcm.Config{Now: time.Now}, wantAccount},
		"no JSON":         {fcm.Config{Now: time.Now, Credentials: []byte("s3cret")}, wantAccount},
		"another kind":    {fcm.Config{Now: time.Now, Credentials: changed(`"service_account"`, `"authorized_user"`)}, wantAccount},
		"a path":          {fcm.Config{Now: time.Now, Credentials: changed(`"demo-project"`, `"../demo"`)}, wantAccount},
		"no key":          {fcm.Config{Now: time.Now, Credentials: changed(`BEGIN PRIVATE`, `BEGIN`)}, wantAccount},
		"plain http":      {fcm.Config{Now: time.Now, Credentials: changed(`"https://127.0.0.1`, `"http://example.com`)}, `credentials "(not shown)" is not allowed: it takes a token_uri that is an https: URL`},
		"endpoint":        {fcm.Config{Now: time.Now, Credentials: good, Endpoint: "http://u:pw@example.com"}, `endpoint "http://example.com/…" is not allowed: it takes an https URL of a host, such as https://fcm.googleapis.com`},
		"endpoint's path": {fcm.Config{Now: time.Now, Credentials: good, Endpoint: "https://example.com/v1"}, `endpoint "https://example.com/…" is not allowed: it takes an https URL of a host, such as https://fcm.googleapis.com`},
		"timeout":         {fcm.Config{Now: time.Now, Credentials: good, Timeout: -1}, `timeout "-1ns" is not allowed: it takes a time above zero and up to 5m0s`},
		"clock":           {fcm.Config{Credentials: good}, "fcm needs a clock"},
	} {
		_, err := fcm.New(row.config)
		require.EqualError(t, err, row.want, name)
	}
}
