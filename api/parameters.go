package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
)

func userParameter() *huma.Param {
	return &huma.Param{
		Name: "user", In: "path", Required: true, Example: "alice",
		Description: "The user's name, percent-encoded: 1 to 256 bytes of UTF-8 without control characters.",
		Schema:      parameterSchema("user"),
	}
}

func idParameter() *huma.Param {
	return &huma.Param{
		Name: "id", In: "path", Required: true, Example: "order-17",
		Description: "The message's id: 1 to 128 of A-Z a-z 0-9 . _ : -",
		Schema:      parameterSchema("id"),
	}
}

func accountParameter() *huma.Param { return nameParameter("account", "acme") }

func tierParameter() *huma.Param { return nameParameter("tier", "free") }

func policyParameter() *huma.Param { return nameParameter("policy", "vip") }

func nameParameter(what, example string) *huma.Param {
	return &huma.Param{
		Name: what, In: "path", Required: true, Example: example,
		Description: "The " + what + "'s name: 1 to 64 of a-z 0-9 _ -",
		Schema:      parameterSchema(what),
	}
}

func categoryParameter(description string) *huma.Param {
	return &huma.Param{
		Name: "category", In: "query", Example: "marketing", Description: description,
		Schema: parameterSchema("category"),
	}
}

func timeParameter(name, description string) *huma.Param {
	return &huma.Param{
		Name: name, In: "query", Example: "2040-06-22T11:11:11Z",
		Description: description + " RFC 3339, or now; a + is written %2B.",
		Schema:      parameterSchema("send_at"), // which may be now too
	}
}

func countParameter(name, description string, usual, most int) *huma.Param {
	return &huma.Param{
		Name: name, In: "query", Description: description,
		Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(float64(most)), Default: usual},
	}
}

func cursorParameter() *huma.Param {
	return &huma.Param{
		Name: "cursor", In: "query", Description: "The next_cursor of the page before.",
		Schema: &huma.Schema{Type: huma.TypeString, MinLength: new(1)},
	}
}

// pageParameters documents the parameters that pageOf reads.
func pageParameters(limit string) []*huma.Param {
	return []*huma.Param{countParameter("limit", limit, usualPage, largestPage), cursorParameter()}
}

// pageByName returns the page of a list by name that a request asks for, each entry as it is
// described, and the cursor of the next page. read gets the name after which it begins, "" for
// the first page, and how many entries it has at most; it returns the name of the last of them.
func pageByName[E, D any](
	s *server, r *http.Request, q web.Query,
	read func(ctx context.Context, after string, limit int) ([]E, string, error), describe func(E) D,
) (page []D, next string, err error) {
	limit, err := q.Count("limit", usualPage, largestPage)
	if err != nil {
		return nil, "", err
	}
	after, err := q.NameCursor()
	if err != nil {
		return nil, "", err
	}
	all, next, err := read(r.Context(), after, limit)
	if err != nil {
		return nil, "", err
	}
	page = make([]D, len(all)) // not nil: its JSON is an array
	for i, entry := range all {
		page[i] = describe(entry)
	}
	return page, s.sealed(r.Context(), web.NameCursor(next)), nil
}

// conditionParameters documents the headers that web.PreconditionOf reads.
func conditionParameters(what string) []*huma.Param {
	return []*huma.Param{
		{
			Name: "If-Match", In: "header", Example: `"7"`,
			Description: "Does the request only if " + what + " at this version, in quotes as in ETag, or at one of several with commas between them. * is any version. \"0\" means that there is nothing yet.",
			Schema:      &huma.Schema{Type: huma.TypeString},
		},
		{
			Name: "If-None-Match", In: "header", Example: "*",
			Description: "* does the request only if there is nothing yet.",
			Schema:      &huma.Schema{Type: huma.TypeString},
		},
	}
}
