// Package story helps tests of several packages to tell what happens to one
// user's messages.
//
// Alice has reservations, Messages has messages: reservations with records and a
// gate that delivers them. Both live on an embedded store whose clock the test
// moves. Methods named after an outcome (Accepted, Refused, Holds, Watched)
// require it.
//
// At and Ahead read times, PolicyOf and others build policies. The package knows
// no model.
package story
