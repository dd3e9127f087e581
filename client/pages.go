package client

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"

	"github.com/sendlimit/sendlimiter/message"
)

// pages yields the entries of all pages of a list. It requests each page when the former is used
// up, and ends after an error. entries returns the entries of a page, and the cursor of the next
// one.
func pages[A, T any](ctx context.Context, c *Client, what call, entries func(A) (page []T, next string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		of := what
		of.query = values()
		maps.Copy(of.query, what.query)
		for {
			answer, err := value[A](ctx, c, of)
			page, next := entries(answer)
			if err == nil && next != "" && next == of.query.Get("cursor") {
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
			of.query.Set("cursor", next)
		}
	}
}

// ListedPolicy is a policy of the list of all policies.
type ListedPolicy struct {
	Policy

	// Unreadable is set if only a newer API can read the policy. Then only Name is set.
	Unreadable bool `json:"unreadable,omitempty"`
}

// ListPoliciesQuery is the query of ListPolicies. Zero fields are not sent.
type ListPoliciesQuery struct {
	// Limit is the number of policies a page.
	Limit int
}

// ListPolicies yields all policies by name. The key needs the scope admin.
func (c *Client) ListPolicies(ctx context.Context, query ListPoliciesQuery) iter.Seq2[ListedPolicy, error] {
	what := call{doing: "list the policies", method: http.MethodGet, path: "/v1/policies", query: values("limit", count(query.Limit))}
	return pages(ctx, c, what, func(a message.Policies) ([]ListedPolicy, string) {
		var page []ListedPolicy
		for _, p := range a.Policies {
			page = append(page, ListedPolicy{Policy: p})
		}
		for _, name := range a.Unreadable {
			page = append(page, ListedPolicy{Policy: Policy{Name: name}, Unreadable: true})
		}
		slices.SortFunc(page, func(x, y ListedPolicy) int { return cmp.Compare(x.Name, y.Name) })
		return page, a.NextCursor
	})
}

// CampaignCounts repeats CountCampaign until all messages are counted. It yields each answer with
// the counts so far, and finally all counts or an error.
func (c *Client) CampaignCounts(ctx context.Context, campaign string, query CountCampaignQuery) iter.Seq2[CampaignStatus, error] {
	return func(yield func(CampaignStatus, error) bool) {
		of := query
		for {
			status, err := c.CountCampaign(ctx, campaign, of)
			if err == nil && status.More == of.More && of.More != "" {
				err = &ResponseError{Detail: "the count goes round: an answer goes on where the one before did"}
			}
			if !yield(status, err) || err != nil || status.More == "" {
				return
			}
			of.More = status.More
		}
	}
}
