// Package tracing writes the OpenTelemetry spans of a message's life.
//
//	{method} {route}  a request to the API, of the kind server
//	submit        a submit, of the kind producer; its context is kept with the message
//	submit batch  a stream of submits, which are its children
//	hand_over     messages put into the queue: at a submit, or later by the relay
//	deliver       a delivery, of the kind consumer; it links to its submit
//	claim         the gate, as a child of deliver
//	push          the request to one provider, as a child of deliver
//	settle        the record of the result, as a child of deliver
//	EVALSHA, SET  commands to the store, below any of these
//
// A delivery may come days after its submit, so it has its own trace, with a link. Each retry has
// one too. The record of a message stores the Reference for the link: 24 bytes, or none if the
// submit is not sampled.
//
// Names and attributes follow the semantic conventions for messaging, HTTP and databases where
// they fit. No span has a user, a title, a body, an address, a key or the text of an error. Only
// recorded spans get attributes, so that others cost little.
//
// The zero Tracer writes nothing, and nothing is written below a span that is not recorded. The
// package only uses the API of OpenTelemetry: a program passes New a provider of the SDK. It knows
// no message and no notifier.
package tracing
