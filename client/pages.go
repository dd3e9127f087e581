package client

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/sendlimit/sendlimiter/message"
)

// list yields the entries of all pages of a list. It requests each page when the former is used
// up, and ends after an error. read returns the page of a cursor; entries returns the entries of a
// page, and the cursor of the next one.
func list[A, T any](doing string, read func(cursor string) (A, error), entries func(A) (page []T, next string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			answer, err := read(cursor)
			page, next := entries(answer)
			if err == nil && next != "" && next == cursor {
				err = fmt.Errorf("%s: %w", doing, &ResponseError{Detail: "the list goes round: a page names itself as the next"})
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

const listPolicies = "list the policies"

// ListPoliciesPage returns one page of ListPolicies. cursor is the NextCursor of the page before, or
// "" for the first page.
func (c *Client) ListPoliciesPage(ctx context.Context, query ListPoliciesQuery, cursor string) (message.Policies, error) {
	return value[message.Policies](ctx, c, call{
		doing: listPolicies, method: http.MethodGet, path: "/v1/policies", query: values("cursor", cursor, "limit", count(query.Limit)),
	})
}

// ListPolicies yields all policies by name. The key needs the scope admin.
func (c *Client) ListPolicies(ctx context.Context, query ListPoliciesQuery) iter.Seq2[ListedPolicy, error] {
	read := func(cursor string) (message.Policies, error) { return c.ListPoliciesPage(ctx, query, cursor) }
	return list(listPolicies, read, func(a message.Policies) ([]ListedPolicy, string) {
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
