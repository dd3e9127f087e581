// Package api serves the product over HTTP: the operations of packages tasks
// and sendlimit as JSON, with an OpenAPI document and a page made of it.
//
// # The way of a request
//
//	observe ─► recovered ─► sameOrigin ─► Before ─► router ─► bounded ─► authorized ─► limited ─► operation
//	   │           │             │      (/v1/ only)   │          │            │        (submits)     │
//	   id, log     500           403               404, 405     503     401, 403, 429    429     its answer
//
// Every operation names the scope that a key has to have; New refuses one that
// names none. The pages about them are for everybody, Options.Metrics for who has
// the scope read. Who has a key without the scope admin is confined to the
// messages of its account by the submitter that acts for it: others' are not
// found, and their ids are taken out of what is answered (authorize.go). Nobody is
// let in on a guess: a key is looked up in the store, by its SHA-256, at most once
// a second, and an address with too many wrong ones waits (authenticate.go,
// failures.go).
//
// An operation is a route: an entry of the OpenAPI document, and the function
// that answers. New has them all in one list (routes.go), from which both the
// router and the document are made, so that nothing is served and not
// documented. The schemas are made of the Go types that are answered.
//
// The document is huma's. Requests are not: their bodies, paths and parameters
// are read by the same code that reads them on the other surfaces
// (tasks.DecodeDraft, tasks.ParseTime, the checks of sendlimit), so that what is
// wrong has the same code, field and sentence everywhere. Nothing is judged here.
//
// # Answers
//
// What was done is application/json, with 200, or 201 for a message that was
// accepted. All else is a Problem, application/problem+json: the members of RFC
// 9457 and, beside them, those of the tasks.Outcome. The status follows from the
// outcome's code by one table (kinds, status.go), but where HTTP itself has a
// word for what is wrong with the request before any field is: 400, 408, 413,
// 415.
//
// # What always holds
//
//   - Every answer has an X-Request-Id, the caller's where it is harmless, and
//     what is logged of the request has it too. Logs name routes, never users,
//     ids or content.
//   - A user of any name is one segment of a path, percent-encoded: "/" is %2F,
//     and "..", which would be a step in the path, %2E%2E. Clients that follow
//     the WHATWG rules for addresses, as browsers do, take %2E%2E for a step as
//     well, and can't reach users called "." or "..".
//   - What is not known is refused by its name: fields, parameters, and
//     parameters given twice.
//   - A request is answered, or ended by its deadlines: each has Limits.Timeout
//     to come whole and to be answered. It goes on when its caller seems to be
//     gone, who may only have closed the half of the connection that is sent on.
//     Previews and refits alone, which take half of the store's time and are of use
//     to nobody else, end then.
//   - There are Limits.InFlight requests at a time, and apart from them
//     Limits.Streams batches, previews and refits, of these one. One too many is
//     told at once to come again.
//   - What has versions, policies and users' settings, has an ETag, and is changed
//     under If-Match or If-None-Match only as it was read (precondition.go).
//   - A browser that shows another site's page can look at nothing here, since
//     nothing allows it, and can change nothing: that is refused. So is, without a
//     key, who asks for this server by a name of the DNS (host.go).
//
// # Failures
//
//   - The store is away: nobody who has a key is let in, 503; but for the metrics.
//   - The store is away or full: 503 with Retry-After. A submit that was not
//     answered may have been accepted; the same one with the same id can be
//     repeated.
//   - A panic: 500, and the log has the stack under the request's id. An answer
//     that had begun is broken off.
//   - An error without a code, which none should be: 500, its text in the log
//     alone.
package api
