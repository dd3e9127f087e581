package main

import "slices"

// figure is a question with an answer for each side: a column of the table, and a plot.
type figure struct {
	file     string // of the plot
	column   string // heading of the table
	title    string // of the plot
	unit     string // of the plot
	suffix   string // of a figure in the table
	of       func(sideResult) series
	moreIs   bool   // better
	question string // heading on the page
	text     string // below it
	why      string // we are worse than a side, where we are
}

func figures() []figure {
	one := func(v float64) series { return series{v} }
	return []figure{
		{
			file: "wrong", column: "wrong answers", title: "Wrong answers to the lines of the real file", unit: "lines",
			of:       func(r sideResult) series { return one(float64(r.Wrong.Against + r.Wrong.Fitting)) },
			question: "Is the answer right?",
			text:     "Each line of a real file is submitted in its order. An answer is wrong if the message was accepted and broke a rule, or was refused and would have fitted, judged by brute force beside all that the side had accepted before. A limiter that counts calls sees one burst of them, whatever the send times are: it is made for a call that happens now.",
		},
		{
			file: "submits", column: "submits a second", title: "Submits a second, no persistence or synchronous_commit off", unit: "/s", moreIs: true,
			of:       func(r sideResult) series { return r.Submits.PerSecond },
			question: "How many messages can be submitted?",
			text:     "64 callers submit messages, each of which waits for its answer. Every message has a user of its own. Redis keeps all in memory. Postgres always writes to disk, here within a second after its answer.",
			why:      "a submit of ours also stores a record, its index and when to look after it, so that nothing is lost between the store and the queue, and so that a message can be found, moved and cancelled",
		},
		{
			file: "durable", column: "submits a second, on disk", title: "Submits a second, appendfsync everysec or synchronous_commit on", unit: "/s", moreIs: true,
			of:       func(r sideResult) series { return r.DurableSubmits.PerSecond },
			question: "And on disk?",
			text:     "The same on a store that writes to disk. Postgres does so before its answer, Redis within a second, which is less: a machine that loses its power loses what Redis answered last.",
			why:      "the record, its index and when to look after it are written, too",
		},
		{
			file: "deliveries", column: "deliveries a second", title: "Deliveries a second of messages due at one millisecond", unit: "/s", moreIs: true,
			of:       func(r sideResult) series { return r.Deliveries.PerSecond },
			question: "How fast is a herd delivered?",
			text:     "All messages are due at one millisecond. Counted is the time from there to the last delivery.",
			why:      "each message of ours is claimed and settled in its record, beside the task that a queue fetches and ends, too; that keeps a cancelled one from being sent, and remembers what became of each",
		},
		{
			file: "late", column: "late, p99", title: "Lateness at a steady rate, 99th percentile", unit: "ms", suffix: " ms",
			of:       func(r sideResult) series { return r.Late.P99 },
			question: "How late is a message?",
			text:     "A steady number of messages is due each second. A message that is sent before its time is early.",
			why:      "the processor of the side is shared with the calls that claim and settle",
		},
		{
			file: "early", column: "sent early", title: "Messages sent before their time", unit: "%", suffix: " %",
			of:       early,
			question: "Is a message ever early?",
			text:     "Of the messages above and below. asynq keeps a time in whole seconds and leaves out the rest, so a message is early by up to a second. Who rounds up first has it late instead.",
		},
		{
			file: "pending", column: "late beside pending, p99", title: "Lateness while others are pending, 99th percentile", unit: "ms", suffix: " ms",
			of:       func(r sideResult) series { return r.LatePending.P99 },
			question: "And beside a full store?",
			text:     "The lateness of the same messages, while many more are pending for later days.",
			why:      "as above",
		},
		{
			file: "bytes", column: "bytes a pending message", title: "Bytes of the store for a pending message of 150 bytes", unit: "bytes",
			of:       func(r sideResult) series { return r.Bytes },
			question: "What does a pending message cost?",
			text:     "Memory of Redis, and disk of Postgres, for a message with 150 bytes of content.",
			why:      "a record with its index costs more than a task",
		},
		{
			file: "processor", column: "processor time of submit and delivery", title: "Processor time of store and side for a submit and a delivery", unit: "µs", suffix: " µs",
			of:       processor,
			question: "What does a message cost in processor time?",
			text:     "Store and side together, in the cells of submits and herds. The herd's part begins 18 seconds before it is due, so that work ahead of the time and polling count, and ends with the last delivery.",
			why:      "a message of ours is claimed and settled in its record, beside the task that a queue fetches and ends, too",
		},
		{
			file: "recovery", column: "recovery from kill -9 of a worker", title: "After kill -9 of the worker: until the last message of the herd", unit: "s", suffix: " s",
			of:       func(r sideResult) series { return one(r.Crash.Worker) },
			question: "What does kill -9 do?",
			text:     "The worker is killed while it delivers a herd, after a tenth of it, and starts again at once. Later the store is killed the same way. The bar lasts until the last message of the herd is delivered: those that were under way wait for a lease. The store is one that writes to disk. BullMQ's lock is set to 10 s instead of 30 s, River's rescue to 20 s instead of an hour; asynq's lease is fixed.",
			why:      "a worker fetches messages of a herd in tasks of up to 32, so it has most of a small herd when it dies; the relay finds these a minute after their send time. asynq, which fetches single tasks, makes one message wait as long",
		},
		{
			file: "outage", column: "too close after an outage", title: "Deliveries within a minute after another, when workers return", unit: "",
			of:       func(r sideResult) series { return one(float64(r.Outage.TooClose)) },
			question: "And after an outage?",
			text:     "Each user has two messages, a minute and a second apart. Workers are away until both are due. A queue then sends both at once, unless its handler judges again, which no handler here does. The limiters of asynq + redis_rate and BullMQ refused the second message at submit, since they count calls.",
		},
		{
			file: "lines", column: "lines of code", title: "Lines of code that a team writes", unit: "lines",
			of:       func(r sideResult) series { return one(float64(r.Lines)) },
			question: "How much code is it?",
			text:     "Lines of the adapter in this folder, without empty ones, comments and what speaks with the harness. That is submit and deliver only: a queue and a limiter have no moves, free times, quotas, devices or dashboard.",
			why:      "ours is Go and has its types and errors spelled out; a limiter that counts calls is a few lines",
		},
	}
}

// early returns the percentage of early messages.
func early(r sideResult) series {
	const all = 100
	return series{all * float64(r.Early) / float64(max(r.Due, 1))}
}

// processor returns the processor time of a message in rounds, as many as both cells have.
func processor(r sideResult) series {
	var sum series
	for i := range min(len(r.Submits.StoreMicros), len(r.Deliveries.StoreMicros)) {
		sum.add(r.Submits.StoreMicros[i] + r.Submits.SideMicros[i] + r.Deliveries.StoreMicros[i] + r.Deliveries.SideMicros[i])
	}
	return sum
}

// low and high are the range of a series.
func (s series) low() float64  { return slices.Min(append(series{s.median()}, s...)) }
func (s series) high() float64 { return slices.Max(append(series{s.median()}, s...)) }
