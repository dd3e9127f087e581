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

// WhatIf replaces rules in a dry run. The zero WhatIf changes nothing. Any other needs a key with
// the scope admin.
type WhatIf struct {
	// Rules each replace the policy's rule with the same window, or are added: "2/calendar_day".
	// Each window may appear once.
	Rules []string
	// Policy replaces the stored policy of its name, which must exist. The name is "default" if
	// empty. Nil replaces none.
	Policy *Policy
}

// DryRunBatch returns the outcomes that SubmitBatch would return, and stores nothing. Earlier
// messages of the batch count. A dry run has at most 10,000 messages, or 250,000 if each user's
// messages are together.
//
// Results come as SubmitBatch yields them. If the stream breaks after the first result, the dry run
// is not retried, since its state is lost: the last error is a *BatchError.
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
