// Package overview reads the state of the whole system for an operator's dashboard.
//
//	records/activity   counts of ended messages, by minute and hour, and by day of an account
//	records/forecast   counts of due messages, while a dashboard is open
//	read here          dead letters, hand-over, workers, channels, memory
//
// A process has one Reader for all dashboards. It reads each
// part as often as it changes and costs: the counts of the present minute each second,
// lists of all partitions every 15 seconds. Together this takes less than 0.1 % of the store's
// time, and the forecast at most 0.5 % more. A part that can't be read stays as it was, with
// Overview.Failed.
package overview
