package reload_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/reload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// channel answers with its name as the provider's id.
type channel struct {
	name   string
	closed *atomic.Int64
}

func (c channel) Notify(context.Context, notifier.Notification) notifier.Result {
	return notifier.Result{Status: notifier.Delivered, ProviderID: c.name}
}
func (c channel) Identity() string { return "id of " + c.name }

func (c channel) Close() error {
	c.closed.Add(1)
	return nil
}

// rig is a channel over a file.
type rig struct {
	file   string
	closed atomic.Int64
	told   chan error
	*reload.Channel
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{file: filepath.Join(t.TempDir(), "key"), told: make(chan error, 10)}
	r.write(t, "first")
	var err error
	r.Channel, err = reload.New(t.Context(), reload.Options{
		File: r.file, Every: time.Millisecond,
		Open: func(content []byte) (notifier.Notifier, error) {
			if string(content) == "broken" {
				return nil, errors.New("no key")
			}
			return channel{name: string(content), closed: &r.closed}, nil
		},
		Reloaded: func(err error) { r.told <- err },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// write replaces the file at once, as whoever rotates keys does.
func (r *rig) write(t *testing.T, content string) {
	t.Helper()
	next := r.file + ".new"
	require.NoError(t, os.WriteFile(next, []byte(content), 0o600))
	require.NoError(t, os.Rename(next, r.file))
}

func (r *rig) delivers(t *testing.T) string {
	t.Helper()
	return r.Notify(t.Context(), notifier.Notification{}).ProviderID
}

func TestTheChannelFollowsItsFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.Equal(t, "first", r.delivers(t))
	require.Equal(t, "id of first", r.Identity())

	r.write(t, "second")
	require.NoError(t, <-r.told)
	require.Equal(t, "second", r.delivers(t))
	require.Equal(t, "id of second", r.Identity())
	require.Equal(t, int64(1), r.closed.Load(), "the former one is closed")
}

func TestContentThatCantBeUsedKeepsTheFormerChannel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(t, "broken")
	require.EqualError(t, <-r.told, "the new content can't be used, the former is kept: no key")
	require.Equal(t, "first", r.delivers(t))
	require.Zero(t, r.closed.Load())

	r.write(t, "third")
	require.NoError(t, <-r.told)
	require.Equal(t, "third", r.delivers(t))
}

func TestAFileThatIsAwayIsToldOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, os.Remove(r.file))
	require.ErrorIs(t, <-r.told, os.ErrNotExist)
	require.Equal(t, "first", r.delivers(t))
	r.write(t, "second")
	require.NoError(t, <-r.told)
	require.Equal(t, "second", r.delivers(t))
	require.Empty(t, r.told)
}

// Kubernetes mounts a secret as a link to a folder, and replaces the folder.
func TestAFileBehindALinkThatIsReplaced(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"one", "two"} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name, "key"), []byte(name), 0o600))
	}
	data, file := filepath.Join(folder, "data"), filepath.Join(folder, "key")
	require.NoError(t, os.Symlink("one", data))
	require.NoError(t, os.Symlink(filepath.Join("data", "key"), file))
	told := make(chan error, 1)
	c, err := reload.New(t.Context(), reload.Options{
		File: file, Every: time.Millisecond, Reloaded: func(err error) { told <- err },
		Open: func(content []byte) (notifier.Notifier, error) {
			return channel{name: string(content), closed: new(atomic.Int64)}, nil
		},
	})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, os.Symlink("two", data+".new"))
	require.NoError(t, os.Rename(data+".new", data))
	require.NoError(t, <-told)
	require.Equal(t, "two", c.Notify(t.Context(), notifier.Notification{}).ProviderID)
}

func TestAChannelThatCantBeOpened(t *testing.T) {
	t.Parallel()
	_, err := reload.New(t.Context(), reload.Options{File: filepath.Join(t.TempDir(), "nosuch")})
	require.ErrorIs(t, err, os.ErrNotExist)

	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = reload.New(t.Context(), reload.Options{File: file, Open: func([]byte) (notifier.Notifier, error) {
		return nil, errors.New("no key")
	}})
	require.EqualError(t, err, "no key")
}
