package email

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The defaults are those of RFC 5321, section 4.5.3.2, which has none for connecting.
func TestTimeoutsOfTheStandard(t *testing.T) {
	t.Parallel()
	want := Timeouts{
		Connect: 30 * time.Second, Greeting: 5 * time.Minute, Command: 5 * time.Minute,
		Data: 2 * time.Minute, Content: 3 * time.Minute, Accepted: 10 * time.Minute,
	}
	require.Equal(t, want, Timeouts{}.withDefaults())
	want.Data = time.Second
	require.Equal(t, want, Timeouts{Data: time.Second}.withDefaults())
}
