package serve

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestReadAhead(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, row := range map[string]struct {
		kind string
		body io.Reader
		left int // bytes that are read by who answers
		want string
		err  error
	}{
		"all of it":          {"application/json", strings.NewReader("12345"), 0, "12345", nil},
		"without a type":     {"", strings.NewReader("12345"), 0, "12345", nil},
		"its beginning":      {"application/json", strings.NewReader("1234567890ab"), 2, "1234567890ab", nil},
		"none of a batch":    {"application/x-ndjson; charset=utf-8", strings.NewReader("12345"), 5, "12345", nil},
		"none of JSON lines": {"application/jsonl", strings.NewReader("12345"), 5, "12345", nil},
		"a broken one":       {"", io.MultiReader(strings.NewReader("123"), iotest.ErrReader(broken)), 0, "123", broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counted := &counter{Reader: row.body}
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", counted)
			request.Header.Set("Content-Type", row.kind)
			var body io.ReadCloser
			readAhead(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body = r.Body
			}), 10).ServeHTTP(httptest.NewRecorder(), request)
			before := counted.read
			got, err := io.ReadAll(body)
			require.ErrorIs(t, err, row.err)
			require.Equal(t, row.want, string(got))
			require.Equal(t, row.left, counted.read-before)
			require.NoError(t, body.Close())
		})
	}
}

// counter counts what is read.
type counter struct {
	io.Reader

	read int
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.read += n
	return n, err
}
