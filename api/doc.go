// Package api serves the product over HTTP: the operations of tasks and sendlimit as
// JSON, with an OpenAPI document and a page made of it. It judges nothing itself.
//
// # The way of a request
//
//	observe ─► recovered ─► sameOrigin ─► Before ─► router ─► bounded ─► authorized ─► limited ─► operation
//	   │           │             │      (/v1/ only)   │          │            │        (submits)     │
//	   id, log     500           403               404, 405     503     401, 403, 429    429     its answer
//
// An operation is a route, written once in the file of what it is about: its address, scope and
// words, and a handler that knows no HTTP, func(ctx, In) (Out, error). ctx has the caller. What a
// request takes and how it is read, checked and documented follow from the type In (input.go);
// what it answers, from Out. The words of members are the doc of their fields. routes.go lists all
// routes; router, document and audit log are made of that list, so everything that is served is
// documented. examples.go has a body for each operation; internal/docs makes the page of it all.
// bounds.go has the bounds of members and parameters, headers.go the headers of answers. Only what
// streams its answer writes it itself.
//
// Bodies, paths and parameters are read by the code that the other surfaces use, such as
// message.DecodeDraft. So the same mistake has the same code, field and sentence
// everywhere.
//
// # Access
//
// Each operation names the scope that a key needs; New refuses one that names none. The
// documentation and Options.Probes need no key, Options.Metrics the scope admin. A key
// without the scope admin reaches only the messages of its account: those of others are
// not found, and their ids are removed from answers (authorize.go). One with admin sees title,
// body, data and metadata of other accounts' messages only with the scope content, and each
// look is logged (content.go). A key is looked up by its SHA-256, at most once a second. An address that sent too many wrong keys has to wait
// with further ones (authenticate.go, failures.go); a valid key need not, since keys of which
// nothing is known share calls of the store (keyscreen.go). A page of another site can read and change nothing
// here. Without a key a request may not name this server by a DNS name (host.go).
//
// # Answers
//
// A success is application/json with 200, or 201 for something new. Everything else is a
// Problem, application/problem+json: the members of RFC 9457 and those of
// message.Outcome. status.go derives the status from the outcome's code. Only mistakes
// that HTTP itself has a word for have 400, 408, 413, 415 or 501.
//
//   - Each answer has an X-Request-Id: the caller's, if it is harmless. The log shows it
//     too. Logs name routes, never users, ids or content. Only a look at the content of
//     another account's message is logged with user and id.
//   - A user is one percent-encoded segment of a path: "/" is %2F, ".." is %2E%2E.
//     Browsers read %2E%2E as a step too, so they can't reach users named "." or "..".
//   - No path is rewritten: one with an empty segment or a step is not found.
//   - Unknown fields and parameters are refused by name, and so are repeated ones.
//   - Limits.Timeout bounds a request and its answer. A client that closes its half of
//     the connection still gets its answer; only what is useful to nobody else ends then,
//     such as a preview, an export or a stream of events (route.attended).
//   - At most Limits.InFlight requests run at a time, and Limits.Streams streams beside
//     them: batches, refits and other work that answers with lines. Of the expensive kinds
//     there are a few turns (turns.go). Others receive 503 at once. A request takes its
//     slot when its caller is known. An account has only a share of each kind, and never
//     more than it leaves free (slots.go): one more receives 429. Operators find a slot
//     even if accounts hold all.
//   - A batch ends that sends no message for Limits.Idle, or only junk. One that is faster
//     than its account's lines_per_minute waits, but not for ever (linepace.go). A dry run
//     of a batch copies what it judges on, so its lines and how many run at a time are
//     bounded (batchcheck.go).
//   - Policies and users' settings have an ETag. If-Match and If-None-Match make a change
//     conditional (precondition.go).
//
// # Failures
//
//   - The store is away: 503 with Retry-After, also for valid keys; only metrics still
//     accept a known key. A submit without an answer may have been accepted: repeat it
//     with the same id.
//   - The store is full: 503 with Retry-After.
//   - A panic: 500. The log has the stack and the request's id. An answer that has begun
//     is cut off.
//   - An error without a code, which is a bug: 500. Only the log has its text.
package api
