// Package api serves the operations of tasks and sendlimit over HTTP as JSON, with an OpenAPI
// document and a page generated from it. It makes no decisions about messages.
//
// # How a request is handled
//
//	observe ─► recovered ─► sameOrigin ─► Before ─► router ─► bounded ─► authorized ─► limited ─► operation
//	   │           │             │      (/v1/ only)   │          │            │        (submits)     │
//	   id, log     500           403               404, 405     503     401, 403, 429    429     its answer
//
// An operation is a route, written once in the file of its resource: its address, scope,
// documentation, and a handler that does not know HTTP, func(ctx, In) (Out, error). ctx has the
// caller. The type In determines the inputs and how they are read, checked and documented
// (input.go); the type Out determines the answer. Members are documented by the doc tags of their
// fields. routes.go lists all routes. Router, document and audit log are built from that list, so
// everything that is served is documented. examples.go has a body for each operation, and
// internal/docs generates the page. bounds.go has the bounds of members and parameters, headers.go
// the headers of answers. Only routes that stream write their answers directly.
//
// The code that reads bodies, paths and parameters is shared with the other surfaces, such as
// message.DecodeDraft. So a mistake has the same code, field and sentence everywhere.
//
// # Access
//
// Each operation names the scope that a key needs; New refuses an operation without one. The
// documentation and Options.Probes need no key, Options.Metrics the scope admin. A key without the
// scope admin reaches only the messages of its account: messages of other accounts are not found,
// and their ids are removed from answers (authorize.go). With admin, it sees title, body, data and
// metadata of other accounts' messages only with the scope content, and each read is logged
// (content.go).
//
// A key is looked up by its SHA-256, at most once a second. An address that sent too many wrong
// keys must wait before it sends more (authenticate.go, failures.go). A valid key need not wait,
// since lookups of unknown keys share calls of the store (keyscreen.go).
//
// Pages of other sites can read and change nothing here. A request without a key may not name this
// server by a DNS name (host.go).
//
// # Answers
//
// A success is application/json with 200, or 201 for something new. Everything else is a Problem,
// application/problem+json: the members of RFC 9457 and of message.Outcome. status.go derives the
// status from the outcome's code. Only errors of HTTP itself have 400, 408, 413, 415 or 501.
//
//   - Each answer has an X-Request-Id: the caller's, if it is safe. The log shows it too. Logs name
//     routes, never users, ids or content. The exception is a read of another account's content,
//     which is logged with user and id.
//   - A user is one percent-encoded segment of a path: "/" is %2F, ".." is %2E%2E. Browsers treat
//     %2E%2E as a step too, so they can't reach users named "." or "..".
//   - Paths are not normalized: a path with an empty segment or a step is not found.
//   - Unknown fields and parameters are refused by name, and so are repeated ones.
//   - Limits.Timeout bounds a request and its answer. A client that closes its half of the
//     connection still gets its answer. Only work that is useful to nobody else ends then, such as
//     a dry run, an export or a stream of events (route.attended).
//   - At most Limits.InFlight requests run at a time, and in addition Limits.Streams streams: batches,
//     refits and other work that answers with lines. Expensive kinds have a few turns (turns.go). Above
//     that, requests get 503 at once. A request takes its slot once its caller is known. An account
//     has a share of each kind, at most as many slots as remain free (slots.go). Above that, it
//     gets 429. Operators get a slot even if accounts hold all.
//   - While several accounts are active, a few requests and lines of each are worked on at a time, and
//     its others wait their turn (work.go).
//   - A batch ends if it sends no message for Limits.Idle, or only junk. A batch that is faster
//     than its account's lines_per_minute waits, for a bounded time (linepace.go). A dry run of a
//     batch copies the data that it judges on, so its lines and the number of concurrent dry runs
//     are bounded (batchcheck.go).
//   - Policies and users' settings have an ETag. If-Match and If-None-Match make a change
//     conditional (precondition.go).
//
// # Failures
//
//   - The store is away: 503 with Retry-After, also for valid keys; only metrics still
//     accept a known key. A submit without an answer may have been accepted: repeat it
//     with the same id.
//   - The store is full: 503 with Retry-After.
//   - A panic: 500. The log has the stack and the request's id. An answer that has begun is cut
//     off.
//   - An error without a code, which is a bug: 500. Only the log has its text.
package api
