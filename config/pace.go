package config

import (
	"fmt"
	"strconv"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

func paceRate(c *Config) func(string) *sendlimit.InvalidError {
	return func(s string) *sendlimit.InvalidError {
		rate, err := sendlimit.ParseRate(s)
		if problem := invalid(err); problem != nil {
			return takes("%s", problem.Want)
		}
		c.Pace.Rate = rate
		return nil
	}
}

func paceBurst(c *Config) func(string) *sendlimit.InvalidError {
	return func(s string) *sendlimit.InvalidError {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 || n > sendlimit.MaxRate {
			return takes("a whole number from 1 to %d", sendlimit.MaxRate)
		}
		c.Pace.Burst = n
		return nil
	}
}

// BurstHasRate is the Check of a program that delivers: a burst is a part of a
// rate.
func BurstHasRate(c Config) *sendlimit.InvalidError {
	if c.Pace.Burst <= c.Pace.Rate.Count {
		return nil
	}
	want := fmt.Sprintf("at most what pace.rate allows, which is %s", c.Pace.Rate)
	if c.Pace.Rate.Count == 0 {
		want = "a pace.rate beside it"
	}
	return &sendlimit.InvalidError{Field: "pace.burst", Value: strconv.FormatInt(c.Pace.Burst, 10), Want: want}
}
