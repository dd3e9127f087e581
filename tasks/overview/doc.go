// Package overview has what an operator's dashboard shows of the whole system: what becomes of
// messages, what is due when, who delivers, and what holds it up.
//
//	counted as it happens     records/activity   by minute and hour, and by day of an account
//	counted for who looks     records/forecast   what is due when
//	looked up here            dead letters, hand-over, workers, channels, memory
//
// A Reader is asked once for a process, however many dashboards are open there. It looks at each
// part as often as it changes and costs: at the counts of the present minute each second, at
// lists of all partitions every 15 seconds. All together this takes the store less than 0.1 % of
// its time, and the forecast at most 0.5 % more. What can't be read stays as it was, and Overview.Failed says so.
package overview
