package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
)

// WhatIf names other rules for a dry run. The zero WhatIf changes nothing. Otherwise the
// key needs the scope admin.
type WhatIf struct {
	// Rules each replace the rule of the policy with the same window, or are added to the
	// others: "2/calendar_day". There is at most one of each window.
	Rules []string
	// Policy replaces the stored policy of its name, "default" if it has none, which must
	// exist. Nil replaces none.
	Policy *Policy
}

// DryRunBatch says what would become of the messages of a batch, as SubmitBatch would, and
// takes nothing: earlier messages count. A dry run has at most 10,000 messages, or 250,000 if
// those of each user stand together.
//
// Results come as SubmitBatch yields them. A dry run whose stream breaks after its first
// result is not retried: what it had judged is lost, so the last error is a *BatchError.
func (c *Client) DryRunBatch(
	ctx context.Context, messages iter.Seq[Message], rules WhatIf, options ...BatchOption,
) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		what := call{doing: "check a batch", path: batchPath + "/dry-run", query: url.Values{}, success: message.Accepted}
		b := &batch{client: c, call: what, dryRun: true}
		if len(rules.Rules) > 0 {
			b.query.Set("what_if", strings.Join(rules.Rules, ","))
		}
		if rules.Policy != nil {
			text, err := json.Marshal(rules.Policy)
			if err != nil {
				yield(Result{}, fmt.Errorf("%s: %w", b.doing, err))
				return
			}
			b.query.Set("what_if_policy", "true")
			b.first = append(text, '\n')
		}
		b.start(ctx, messages, options, yield)
	}
}
