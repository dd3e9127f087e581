package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// PageRequest says how to ask for a list that has no filters.
type PageRequest struct {
	PageSize int // entries per request, 1 to 1,000; zero means the API's default
}

// pagesOf yields the entries of all pages of a list without filters. It reads each page
// into an A, of which entries returns the entries and the cursor of the next page.
func pagesOf[A, T any](
	ctx context.Context, c *Client, doing, path string, r PageRequest, entries func(A) (page []T, next string),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		what := call{doing: doing, method: http.MethodGet, path: path, query: values("limit", count(r.PageSize))}
		pages(ctx, what, func(ctx context.Context, what call) ([]T, string, error) {
			var answer A
			if err := c.do(ctx, what, &answer); err != nil {
				return nil, "", err
			}
			page, next := entries(answer)
			return page, next, nil
		})(yield)
	}
}

// pages yields the entries of all pages of a list.
func pages[T any](
	ctx context.Context, what call, ask func(context.Context, call) (page []T, next string, err error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		cursor := what.query.Get("cursor")
		for {
			page, next, err := ask(ctx, what)
			if err == nil && next != "" && next == cursor {
				err = fmt.Errorf("%s: %w", what.doing, &ResponseError{Detail: "the list goes round: a page names itself as the next"})
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, entry := range page {
				if !yield(entry, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
			what.query.Set("cursor", next)
		}
	}
}

// values returns a query of names and values in turn. It leaves out empty values.
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
