// Package story helps tests of several packages to tell the story of one user's messages.
//
// Alice has reservations. Messages has messages: reservations with records and a gate that delivers
// them. Both are on an embedded store with a clock that the test moves. Methods named after an
// outcome (Accepted, Refused, Holds, Watched) require it.
//
// At and Ahead read times, PolicyOf and others build policies. The package knows
// no model.
package story
