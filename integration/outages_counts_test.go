package integration_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// outagesCounts is what a worker counted, by its metrics.
type outagesCounts struct {
	Delivered int            `json:"delivered"`
	Dropped   map[string]int `json:"dropped"` // by reason
}

// countsMark begins the line on which a worker that ends prints its counts.
const countsMark = "counts of this worker: "

// countsIn reads a worker's metrics.
func countsIn(metrics prometheus.Gatherer) (outagesCounts, error) {
	c := outagesCounts{Dropped: make(map[string]int)}
	families, err := metrics.Gather()
	for _, family := range families {
		for _, m := range family.GetMetric() {
			switch family.GetName() {
			case "sendlimit_delivery_lateness_seconds":
				c.Delivered += int(m.GetHistogram().GetSampleCount())
			case "sendlimit_dropped_total":
				c.Dropped[m.GetLabel()[0].GetValue()] += int(m.GetCounter().GetValue())
			}
		}
	}
	return c, err
}

// counts returns what a worker printed when it ended. One that was killed printed nothing.
func (l *workerLife) counts() (c outagesCounts, printed bool, err error) {
	_, after, printed := strings.Cut(l.said.String(), countsMark)
	if !printed {
		return c, false, nil
	}
	line, _, _ := strings.Cut(after, "\n")
	return c, true, json.Unmarshal([]byte(line), &c)
}

// countFaults compares what workers counted with what became of the messages. No outcome
// is counted twice. The workers that ran last have counted all that they delivered.
func (o *outages) countFaults(all []outagesOutcome) (faults []string) {
	o.Helper()
	delivered, sinceLast := 0, 0
	dropped := make(map[string]int)
	var lastBegan time.Time
	for _, w := range o.workers {
		if began := w.last().began; began.After(lastBegan) {
			lastBegan = began
		}
	}
	for _, m := range all {
		switch m.status.Status {
		case message.StatusDelivered:
			delivered++
			if m.claimed.After(lastBegan) {
				sinceLast++
			}
		case message.StatusDropped:
			dropped[m.status.Reason]++
		}
	}
	counted := outagesCounts{Dropped: make(map[string]int)}
	for _, w := range o.workers {
		for _, l := range w.lives {
			c, printed, err := l.counts()
			require.NoError(o, err)
			if !printed && l == w.last() {
				faults = append(faults, "a worker did not end as asked:\n"+l.said.String())
			}
			counted.Delivered += c.Delivered
			for reason, n := range c.Dropped {
				counted.Dropped[reason] += n
			}
		}
	}
	if counted.Delivered < sinceLast || counted.Delivered > delivered {
		faults = append(faults, fmt.Sprintf("workers counted %d deliveries, not %d to %d", counted.Delivered, sinceLast, delivered))
	}
	for reason, n := range counted.Dropped {
		if n > dropped[reason] {
			faults = append(faults, fmt.Sprintf("workers counted %d drops: %s, of %d", n, reason, dropped[reason]))
		}
	}
	return faults
}

// usageFaults requires of a user that each rule counts what has a place, and nothing else:
// at each place that the user's messages have or had, as in the model.
func (o *outages) usageFaults(model *sendlimittest.Model, user string, all []outagesOutcome) (faults []string) {
	o.Helper()
	for _, m := range all {
		for _, at := range []time.Time{m.at, m.status.SendAt.Time} {
			r := sendlimit.UsageRequest{User: user, Category: m.Category, At: at}
			got, err := o.Usage(o.Context(), r)
			require.NoError(o, err)
			r.Now = got.Now
			if want := model.Usage(r); fmt.Sprint(got.Rules) != fmt.Sprint(want.Rules) {
				faults = append(faults, fmt.Sprintf("%s: usage at %s: %v, not %v", user, clock(at), got.Rules, want.Rules))
			}
		}
	}
	return faults
}

// expiredFaults judges what a caller is told of a message that was dropped since it expired.
func (m outagesOutcome) expiredFaults() (faults []string) {
	switch {
	case m.status.Reason != messages.ReasonExpired:
	case !m.status.ExpiresAt.Equal(m.ExpiresAt):
		faults = append(faults, "another expiry was told")
	case m.status.EndedAt.IsZero() || !m.status.DeliveredAt.IsZero():
		faults = append(faults, "no end was told")
	}
	return faults
}
