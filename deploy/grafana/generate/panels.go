package main

import "strings"

// job selects the processes that the dashboard shows.
const job = `job="$job"`

// one is a gauge that every process tells alike: it is of the store.
func one(metric string) string { return "max(" + metric + "{" + job + "})" }

// perSecond is the rate of a counter, of all processes, by labels.
func perSecond(metric string, by ...string) string {
	return "sum" + group(by) + " (rate(" + metric + "{" + job + "}[$__rate_interval]))"
}

// quantile is a quantile of a histogram, of all processes, by labels.
func quantile(q, histogram string, by ...string) string {
	return "histogram_quantile(" + q + ", sum" + group(append([]string{"le"}, by...)) +
		" (rate(" + histogram + "_bucket{" + job + "}[$__rate_interval])))"
}

func group(by []string) string {
	if len(by) == 0 {
		return ""
	}
	return " by (" + strings.Join(by, ", ") + ")"
}

// quantiles are the usual two.
func quantiles(histogram string) []query {
	return []query{{quantile("0.5", histogram), "p50"}, {quantile("0.99", histogram), "p99"}}
}

func rows() []row {
	return []row{
		{"Now", []panel{
			{title: "Pending", about: "Accepted messages that have not ended.", unit: "short", stat: true, queries: []query{{one("sendlimit_pending_messages"), ""}}},
			{title: "Due within 5 minutes", about: "Messages to deliver within five minutes; workers are scaled by it.", unit: "short", stat: true, queries: []query{{"max(sendlimit_due_messages{" + job + `, within="5m"})`, ""}}},
			{title: "Overdue", about: "Messages whose send time has passed and that have not ended, at the last count.", unit: "short", stat: true, warn: 1, queries: []query{{one("sendlimit_overdue_messages"), ""}}},
			{title: "Queue lag", about: "How late messages reach the queue; beyond the setting horizon they are sent late.", unit: "s", stat: true, warn: 30, fail: 60, queries: []query{{one("sendlimit_watch_oldest_overdue_seconds"), ""}}},
			{title: "Dead letters", about: "Messages that were given up; see sendlimit-worker dead-letters list.", unit: "short", stat: true, warn: 1, queries: []query{{one("sendlimit_dead_letters"), ""}}},
			{title: "Processes up", about: "Processes that answer Prometheus: workers, APIs and relays.", unit: "short", stat: true, queries: []query{{"sum(up{" + job + "})", ""}}},
		}},
		{"Deliveries", []panel{
			{title: "Deliveries by outcome", about: "Outcomes of messages: delivered, postponed by the rules, dropped, uncertain, or an attempt that failed.", unit: "ops", queries: []query{
				{perSecond("sendlimit_delivery_lateness_seconds_count"), "delivered"},
				{perSecond("sendlimit_postponed_total"), "postponed"},
				{perSecond("sendlimit_dropped_total", "reason"), "dropped: {{reason}}"},
				{perSecond("sendlimit_uncertain_total"), "uncertain"},
				{perSecond("sendlimit_delivery_failures_total", "final"), "attempt failed, final {{final}}"},
			}},
			{title: "Lateness", about: "How long after its promised time the delivery of a message began; above the tolerance of 2 s it is judged again.", unit: "s", warn: 2, queries: quantiles("sendlimit_delivery_lateness_seconds")},
			{title: "Hand-over", about: "Messages that went to the queue since they are due soon, and those that it had lost and got again.", unit: "ops", queries: []query{
				{perSecond("sendlimit_handed_over_total"), "handed over"}, {perSecond("sendlimit_relayed_total"), "put back"},
			}},
			{title: "Queue", about: "Tasks of the queue by state: a message that is due soon is scheduled, one that is due is pending or active.", unit: "short", queries: []query{
				{"max by (state) (sendlimit_queue_tasks{" + job + "})", "{{state}}"},
				{"max by (queue) (sendlimit_queue_paused{" + job + "})", "{{queue}} is paused"},
				{"sum(sendlimit_held_back{" + job + "})", "workers held back"},
			}},
		}},
		{"Provider", []panel{
			{title: "Provider's time", about: "How long the provider took to accept or refuse a message.", unit: "s", queries: quantiles("sendlimit_delivery_duration_seconds")},
			{title: "Attempts that failed", about: "Attempts to deliver that failed, by reason; final ones are not repeated.", unit: "ops", queries: []query{{perSecond("sendlimit_delivery_failures_total", "reason", "final"), "{{reason}}, final {{final}}"}}},
			{title: "Channels", about: "Messages that the provider of each channel accepted, and those that it did not, by reason.", unit: "ops", queries: []query{
				{perSecond("sendlimit_channel_deliveries_total", "channel"), "{{channel}} accepted"},
				{perSecond("sendlimit_channel_failures_total", "channel", "reason"), "{{channel}}: {{reason}}"},
			}},
			{title: "Learned rates", about: "Calls in a second that a target accepts, as its answers \"too many requests\" have shown; none for a target that has refused none for an hour.", unit: "ops", queries: []query{
				{"max by (target) (sendlimit_pace_learned_rate{" + job + "})", "{{target}}"},
			}},
			{title: "Pauses and pace", about: "How long deliveries waited for a pace or a pause, and the pauses that providers asked for.", unit: "s", queries: []query{
				{quantile("0.99", "sendlimit_pace_wait_seconds"), "wait, p99"},
				{"sum(increase(sendlimit_pauses_total{" + job + "}[$__rate_interval]))", "pauses"},
				{"sum by (channel) (increase(sendlimit_channel_pauses_total{" + job + "}[$__rate_interval]))", "pauses of {{channel}}"},
			}},
		}},
		{"Submits and API", []panel{
			{title: "Submits by outcome", about: "Messages that were submitted: accepted, refused, shifted or repeated.", unit: "ops", queries: []query{{perSecond("sendlimit_submits_total", "outcome"), "{{outcome}}"}}},
			{title: "Refusals by rule", about: "Submits that were refused, by code and the first rule that they would break.", unit: "ops", queries: []query{
				{`sum by (code, rule) (rate(sendlimit_submits_total{` + job + `, outcome="refused"}[$__rate_interval]))`, "{{code}} {{rule}}"},
			}},
			{title: "Requests by code", about: "Answers of the API by status code, without batches and followed events.", unit: "reqps", queries: []query{{perSecond("sendlimit_api_request_duration_seconds_count", "code"), "{{code}}"}}},
			{title: "Time of requests", about: "How long the API took to answer, by method: one request in a hundred took longer.", unit: "s", queries: []query{{quantile("0.99", "sendlimit_api_request_duration_seconds", "method"), "{{method}}, p99"}}},
			{title: "Logins refused", about: "Requests with an invalid key: somebody uses an expired key, or guesses.", unit: "reqps", queries: []query{{perSecond("sendlimit_refused_logins_total"), "refused"}}},
			{title: "Alerts, reports and events", about: "Quota mails and reports that contacts got or did not get, and events that callbacks accepted or did not.", unit: "ops", queries: []query{
				{perSecond("sendlimit_notices_delivered_total", "kind"), "{{kind}} delivered"},
				{perSecond("sendlimit_notice_failures_total", "kind", "reason"), "{{kind}}: {{reason}}"},
				{perSecond("sendlimit_callback_events_total"), "events posted"},
				{perSecond("sendlimit_callback_failures_total", "reason"), "callback: {{reason}}"},
			}},
		}},
		{"Redis and processes", []panel{
			{title: "Memory of Redis", about: "What each Redis uses of its maxmemory; at store_full_at, by default 85 %, submits are refused.", unit: "percentunit", warn: 0.75, fail: 0.85, queries: []query{
				{"max by (server) (sendlimit_store_memory_used_bytes{" + job + "}) / max by (server) (sendlimit_store_memory_max_bytes{" + job + "})", "{{server}}"},
			}},
			{title: "Memory of Redis in bytes", about: "What each Redis uses, even without a limit.", unit: "bytes", queries: []query{{"max by (server) (sendlimit_store_memory_used_bytes{" + job + "})", "{{server}}"}}},
			{title: "Time of scripts", about: "How long the five slowest scripts took, with the way to Redis and back: one call in a hundred took longer.", unit: "s", queries: []query{
				{"topk(5, " + quantile("0.99", "sendlimit_script_duration_seconds", "script") + ")", "{{script}}"},
			}},
			{title: "Failed reads", about: "Failed reads of Redis for these metrics, by metric.", unit: "ops", queries: []query{{perSecond("sendlimit_collect_failures_total", "source"), "{{source}}"}}},
			{title: "Processor time", about: "Processor time of each process; 1 is one core.", unit: "short", queries: []query{{"rate(process_cpu_seconds_total{" + job + "}[$__rate_interval])", "{{instance}}"}}},
			{title: "Memory of processes", about: "Resident memory of each process.", unit: "bytes", queries: []query{{"process_resident_memory_bytes{" + job + "}", "{{instance}}"}}},
		}},
	}
}
