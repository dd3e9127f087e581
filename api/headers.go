package api

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
)

// headers documents headers that every answer of a kind has.
func headers(names ...string) map[string]*huma.Param {
	all := make(map[string]*huma.Param, len(names))
	for _, name := range names {
		all[name] = header(name)
		all[name].Required = true
	}
	return all
}

// addHeader documents one more header of an answer. It is required if all such answers have it.
func addHeader(response *huma.Response, name string, required bool) {
	response.Headers[name] = header(name)
	response.Headers[name].Required = required
}

func header(name string) *huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	switch name {
	case web.RequestIDHeader:
		return &huma.Param{Description: "The request's id.", Schema: text}
	case "Retry-After":
		return &huma.Param{Description: "Seconds to wait.", Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0)}}
	case "WWW-Authenticate":
		return &huma.Param{Description: "Bearer, and why the key was refused.", Schema: text, Example: challenge + `, error="invalid_token"`}
	case "ETag":
		return &huma.Param{Description: "The version in quotes, for If-Match.", Schema: text, Example: `"7"`}
	case "Location":
		return &huma.Param{Description: "The path of the message.", Schema: text, Example: "/v1/users/alice/messages/order-17"}
	case rateLimitHeader:
		return &huma.Param{
			Description: "How many requests remain to the account, r, and the seconds until the count starts again, t, for each " +
				"limit by its name. Absent if the account's requests have no limit, or the request was not counted.",
			Schema: text, Example: `"requests_per_minute";r=59;t=12`,
		}
	case rateLimitPolicyHeader:
		return &huma.Param{
			Description: "The limits of the account's requests: q requests in w seconds. It comes with RateLimit.",
			Schema:      text, Example: `"requests_per_minute";q=60;w=60`,
		}
	}
	return nil
}

// The headers of counted requests, see counters.WriteRateLimit.
const (
	rateLimitHeader       = "RateLimit"
	rateLimitPolicyHeader = "RateLimit-Policy"
)

// countRequests documents the headers of an operation that counts its requests. Requests with a
// wrong key are not counted.
func countRequests(all map[string]*huma.Response) {
	for status, response := range all {
		if status != strconv.Itoa(http.StatusUnauthorized) {
			addHeader(response, rateLimitHeader, false)
			addHeader(response, rateLimitPolicyHeader, false)
		}
	}
}
