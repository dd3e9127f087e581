package service

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// The list is that of the library, without its logger: the channel "log" does better.
func TestSchemesAreTheLibrarys(t *testing.T) {
	t.Parallel()
	known := slices.DeleteFunc(new(router.ServiceRouter).ListServices(), func(s string) bool { return s == "logger" })
	require.ElementsMatch(t, known, notifier.ServiceSchemes())
	require.True(t, slices.IsSorted(notifier.ServiceSchemes()))
}

// The library's own services say which fields they have.
func TestFieldsAreTheServices(t *testing.T) {
	t.Parallel()
	for _, scheme := range notifier.ServiceSchemes() {
		sender, err := new(router.ServiceRouter).NewService(scheme)
		require.NoError(t, err)
		keys := keysOf(reflect.TypeOf(sender).Elem())
		if scheme == "mattermost" { // it has a title, which it does not use
			continue
		}
		require.Equal(t, keys["title"], hasTitle(scheme), scheme)
		if field := linkField(scheme); field != "" {
			require.True(t, keys[field], scheme)
		}
	}
}

// keysOf returns the keys that a service's configuration has.
func keysOf(service reflect.Type) map[string]bool {
	keys := make(map[string]bool)
	for field := range service.Fields() {
		if !strings.EqualFold(field.Name, "config") || field.Type.Kind() != reflect.Pointer {
			continue
		}
		for setting := range field.Type.Elem().Fields() {
			for key := range strings.SplitSeq(setting.Tag.Get("key"), ",") {
				keys[key] = true
			}
		}
	}
	return keys
}
