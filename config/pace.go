package config

import (
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

func paceRate(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		rate, err := rate.Parse(s)
		if problem := invalid(err); problem != nil {
			return takes("%s", problem.Want)
		}
		c.Pace.Rate = rate
		return nil
	}
}

func paceBurst(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 || n > rate.MaxCount {
			return takes("a whole number from 1 to %d", rate.MaxCount)
		}
		c.Pace.Burst = n
		return nil
	}
}

// BurstHasRate is the Check of a program that delivers: a burst needs a rate.
func BurstHasRate(c Config) *fault.InvalidError {
	if c.Pace.Burst <= c.Pace.Rate.Count {
		return nil
	}
	if c.Pace.Rate.Count == 0 {
		return fault.Wrong("pace.burst", "pace.burst needs a pace.rate")
	}
	return fault.Wrong("pace.burst", "pace.burst, %d, is more than pace.rate allows, %s", c.Pace.Burst, c.Pace.Rate)
}

type writtenPace struct {
	Rate  string `env:"RATE"`
	Burst string `env:"BURST"`
	Ramp  string `env:"RAMP"`
}

// paceSettings returns the rows of the table about the rate of all deliveries.
func paceSettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "pace.rate", written: &w.Pace.Rate, kind: "rate",
			help:   "rate limit of a new store for the deliveries of all workers together, such as 100/second",
			accept: paceRate(c),
		},
		{
			key: "pace.burst", written: &w.Pace.Burst, kind: "number",
			help:   "deliveries that may be sent at once within that rate",
			accept: paceBurst(c),
		},
		{
			key: "pace.ramp", written: &w.Pace.Ramp, standard: "1m", kind: "duration",
			help:   "how long a pace takes from nothing to its full rate, after a time without deliveries; 0s for no ramp",
			accept: duration(&c.Ramp, 0, time.Hour),
		},
	}
}
