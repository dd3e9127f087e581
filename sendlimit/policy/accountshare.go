package policy

import (
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const percent = 100

// AccountLimit returns how many messages of a rule one account may have: AccountShare of its limit,
// rounded up; 0 for all.
func (p Policy) AccountLimit(r Rule) int { return (r.Limit*p.AccountShare + percent - 1) / percent }

const wantAccountShare = "a percentage such as 50%, from 1% to 99%"

// ParseAccountShare reads the percentage of each rule that one account may use, "50%". The error is
// a *fault.InvalidError for the field "account_share".
func ParseAccountShare(s string) (int, error) {
	digits, found := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(digits)
	if !found || err != nil || n < 1 || n >= percent {
		return 0, &fault.InvalidError{Field: "account_share", Value: s, Want: wantAccountShare}
	}
	return n, nil
}

// formatAccountShare formats a share as ParseAccountShare reads it; "" for none.
func formatAccountShare(share int) string {
	if share == 0 {
		return ""
	}
	return strconv.Itoa(share) + "%"
}

func (p Policy) validateAccountShare() error {
	if p.AccountShare < 0 || p.AccountShare >= percent {
		return &fault.InvalidError{Field: "account_share", Value: formatAccountShare(p.AccountShare), Want: wantAccountShare}
	}
	return nil
}
