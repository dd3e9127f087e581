// Package tracing writes OpenTelemetry spans of what happens to a message.
//
//	{method} {route}  a request to the API, of the kind server
//	submit        a submit, of the kind producer; its context is kept with the message
//	submit batch  a stream of submits, which are its children
//	hand_over     messages that go to the queue: at a submit, or later by the relay
//	deliver       a delivery, of the kind consumer; it links to its submit
//	claim         the gate, as a child of deliver
//	push          the request to one provider, as a child of deliver
//	settle        the record of the result, as a child of deliver
//	EVALSHA, SET  commands that go to the store, below any of these
//
// A delivery may come days after its submit, so it has a trace of its own, and a link. A
// retry is one more such trace. Reference is what the record of a message keeps for the
// link: 24 bytes, and nothing of a submit that is not sampled.
//
// Names and attributes follow the semantic conventions for messaging, HTTP and databases
// where they fit. No span has a user, a title, a body, an address, a key or a text of an
// error. Attributes are set only on spans that are recorded, so that others cost little.
//
// The zero Tracer writes nothing, and so does what is below a span that is not recorded. The
// package uses the API of OpenTelemetry only: a program gives New a provider from the SDK. It
// knows no message and no notifier.
package tracing
