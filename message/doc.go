// Package message has the values that the API, its Go client and the programs share. A value is
// spelled here once.
//
//	Draft, MoveDraft    a request as a caller writes it, with times as text
//	Message             a message to be sent, with times as values
//	Outcome             the answer to a request; a refusal is an outcome, not an error
//	Status              what became of a message
//	Usage, FreeTime     how full a user's rules are, and free times
//	Misfit, RefitSummary   messages that do not fit a changed policy
//	Policy, UserSettings   the rules, and the settings of one user
//	Account, Tier, Stats   for operators
//
// Package message imports neither Redis nor the queue, so that a client of the API does not depend
// on them. Other packages convert stored values: package submit turns a decision into an Outcome
// with its sentence, and a record into a Status.
//
// The doc tag of a field is its description in the OpenAPI document. The error for a wrong field is
// a *fault.InvalidError.
package message
