package apns_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// keyFile returns a .p8 file.
func keyFile(t *testing.T, curve elliptic.Curve) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

func sound(t *testing.T) apns.Config {
	t.Helper()
	return apns.Config{Key: keyFile(t, elliptic.P256()), KeyID: "ABC123DEFG", TeamID: "DEF123GHIJ", Topic: "com.example.shop", Now: time.Now}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	_, err := apns.New(apns.Config{
		Key: []byte("hunter2"), KeyID: "short", TeamID: "DEF123GHI!", Topic: "com example", Topics: map[string]string{"rider": ""},
		Endpoint: "http://robot:hunter2@example.com/", Connections: 65, Timeout: -1,
	})
	for _, want := range []string{
		"key \"(not shown)\"", `key_id "short"`, `team_id "DEF123GHI!"`, `topic "com example"`, `topics.rider ""`,
		"endpoint", `connections "65"`, `timeout "-1ns"`, "clock",
	} {
		require.ErrorContains(t, err, want)
	}
	require.ErrorAs(t, err, new(*notifier.InvalidError))
	require.NotContains(t, err.Error(), "hunter2")

	for name, change := range map[string]func(*apns.Config){
		"no key":         func(c *apns.Config) { c.Key = nil },
		"a P-384 key":    func(c *apns.Config) { c.Key = keyFile(t, elliptic.P384()) },
		"a broken key":   func(c *apns.Config) { c.Key = []byte(strings.Replace(string(c.Key), "MIG", "XXX", 1)) },
		"no topic":       func(c *apns.Config) { c.Topic = "" },
		"a path":         func(c *apns.Config) { c.Endpoint = "https://example.com/x" },
		"no host":        func(c *apns.Config) { c.Endpoint = "https://" },
		"a long timeout": func(c *apns.Config) { c.Timeout = time.Hour },
	} {
		c := sound(t)
		change(&c)
		_, err := apns.New(c)
		require.ErrorAs(t, err, new(*notifier.InvalidError), name)
	}
	a, err := apns.New(sound(t))
	require.NoError(t, err)
	require.NoError(t, a.Close())
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	identity := func(c apns.Config) string {
		a, err := apns.New(c)
		require.NoError(t, err)
		return a.Identity()
	}
	c := sound(t)
	first := identity(c)
	require.Regexp(t, `^apns, https://api\.push\.apple\.com, team DEF123GHIJ, key ABC123DEFG [0-9a-f]{8}, topic com\.example\.shop$`, first)
	require.Equal(t, first, identity(c))
	for name, change := range map[string]func(*apns.Config){
		"key":         func(c *apns.Config) { c.Key = keyFile(t, elliptic.P256()) },
		"key id":      func(c *apns.Config) { c.KeyID = "ABC123DEFH" },
		"team":        func(c *apns.Config) { c.TeamID = "DEF123GHIK" },
		"topic":       func(c *apns.Config) { c.Topic = "com.example.other" },
		"topics":      func(c *apns.Config) { c.Topics = map[string]string{"rider": "com.example.rider"} },
		"environment": func(c *apns.Config) { c.Sandbox = true },
	} {
		other := c
		change(&other)
		require.NotEqual(t, first, identity(other), name)
	}
}

func TestTopicsOfApps(t *testing.T) {
	t.Parallel()
	s := apple(t, time.Now, 100)
	c := sound(t)
	var err error
	c.Key, err = s.Key()
	require.NoError(t, err)
	c.Endpoint, c.RootCAs = s.URL(), s.Roots()
	c.Topic, c.Topics = "", map[string]string{"shop": notifiertest.APNsTopic, "rider": "com.example.rider"}
	a, err := apns.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	n := order(device())
	n.Device.App = "shop"
	delivered(t, a, n)
	n.Device.App = "rider"
	result := send(t, a, n)
	require.Equal(t, notifier.Refused, result.Status, "the server knows only the other")
	require.ErrorContains(t, result.Err, "TopicDisallowed: the topic is not a bundle id of this team")
	n.Device.App = "other"
	result = send(t, a, n)
	require.Equal(t, notifier.Permanent, result.Status)
	require.Equal(t, notifier.ReasonMisaddressed, result.Reason)
	require.NoError(t, a.Check(n))
}
