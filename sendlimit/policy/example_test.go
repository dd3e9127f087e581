package policy_test

import (
	"fmt"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func ExampleParseRule() {
	for _, written := range []string{"5/hour", "60/60s", "10/calendar_day"} {
		rule, err := policy.ParseRule(written)
		if err != nil {
			panic(err)
		}
		fmt.Println(rule, rule.Calendar())
	}
	// Output:
	// 5/hour false
	// 60/minute false
	// 10/calendar_day true
}
