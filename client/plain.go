package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
)

func value[T any](ctx context.Context, c *Client, what call) (T, error) {
	var answer, none T
	header, err := c.do(ctx, what, &answer)
	if err != nil {
		return none, err
	}
	switch of := any(&answer).(type) {
	case *UserSettings:
		of.Version = versionOf(header)
	case *Outcome:
		if of.Outcome != what.success && (what.or == "" || of.Outcome != what.or) {
			return none, fmt.Errorf("%s: %w", what.doing, &ResponseError{
				Status: http.StatusOK, Code: of.Code, Detail: "the API answered a success that is not " + what.success,
			})
		}
	}
	return answer, nil
}

// Scope names what an API key allows.
type Scope = message.Scope

// ready returns the call with its path filled in, and with its body as JSON.
func (what call) ready() (call, error) {
	for _, of := range what.segments {
		before, after, _ := strings.Cut(what.path, "{")
		name, after, _ := strings.Cut(after, "}")
		if of == "" { // it would be another path
			return what, fmt.Errorf("%s: %w", what.doing, invalid(name, "is missing"))
		}
		what.path = before + message.PathSegment(of) + after
	}
	if what.body == nil {
		return what, nil
	}
	text, err := json.Marshal(what.body)
	if err != nil {
		return what, fmt.Errorf("%s: %w", what.doing, err)
	}
	what.text = text
	return what, nil
}

// values returns a query from pairs of names and values. It omits empty values.
func values(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}

// count returns a number as text; "" for zero, which means the API's default.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// flag returns "true", or "" for false.
func flag(is bool) string {
	if is {
		return "true"
	}
	return ""
}
