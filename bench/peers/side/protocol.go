// Package side is the frame of a side of the comparison: a program that schedules messages through one
// product and delivers them. The harness starts it, writes requests to its standard input as lines of
// JSON, and reads replies from its standard output. A side in another language speaks the same lines.
package side

// Ops of a Request, in the order of a cell.
const (
	OpStart  = "start"  // connects to the store; with RoleWork it also begins to deliver
	OpSubmit = "submit" // submits the messages of a file, and replies when all have an answer
	OpStatus = "status" // replies with the number of pending messages
	OpStop   = "stop"   // ends the program, after deliveries under way
)

// OpCounters is the Op of a Reply that nobody asked for: a side prints it once a second.
const OpCounters = "counters"

// Roles of a side's process. No process has both: the harness kills one of them.
const (
	RoleSubmit = "submit"
	RoleWork   = "work"
)

// Title and Body are the content of every message, 150 bytes together.
const (
	Title = "Your order is on its way"
	Body  = "It left our warehouse this morning and should arrive at your door tomorrow before noon, please " +
		"keep the phone with you. Thanks"
)

// Request is a line from the harness.
type Request struct {
	Op string `json:"op"`

	// Of OpStart. Store is a redis:// or postgres:// URL. A worker appends a line "id,time" to the file
	// Deliveries for each delivery, with the time in Unix microseconds.
	Role       string `json:"role,omitempty"`
	Store      string `json:"store,omitempty"`
	Deliveries string `json:"deliveries,omitempty"`

	// Of OpSubmit. Work has a line "id,user,time" for each message, with its send time in Unix
	// milliseconds. The side writes a line "answer,latency" for each of them to the file Results, in the
	// same order: a, r or e for accepted, refused or error, and the microseconds until the answer. The
	// lines of a user have one caller, which submits them in their order.
	Work    string `json:"work,omitempty"`
	Results string `json:"results,omitempty"`
	Callers int    `json:"callers,omitempty"`
}

// Reply is a line from a side. Each request has one with the same Op.
type Reply struct {
	Op    string `json:"op"`
	Error string `json:"error,omitempty"`

	Settings  string  `json:"settings,omitempty"`  // of OpStart: versions and what was tuned
	Seconds   float64 `json:"seconds,omitempty"`   // of OpSubmit: from the first call to the last answer
	Pending   int     `json:"pending,omitempty"`   // of OpStatus
	Submitted int64   `json:"submitted,omitempty"` // of OpCounters: answers so far
	Delivered int64   `json:"delivered,omitempty"` // of OpCounters: deliveries so far
}
