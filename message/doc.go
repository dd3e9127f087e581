// Package message has the values that every surface shows: the API, its Go client, the
// programs and their JSON. A value is spelled here once.
//
//	Draft, MoveDraft    a request as a caller writes it, with times as text
//	Message             a message to be sent, with times as values
//	Outcome             the answer to a request; a refusal is an outcome, not an error
//	Status              what became of a message
//	Usage, FreeTime     how full a user's rules are, and what is free
//	Misfit, RefitSummary   messages that do not fit a changed policy
//	Policy, UserSettings   the rules, and what is set for one user
//	Account, Tier, Stats   what operators look at
//
// Package message knows neither Redis nor the queue, so that a caller of the API does
// not get them along. Values of the store are turned into these by those who have them:
// package submit makes an Outcome of a decision, with its sentence, and a Status of a
// record.
//
// The doc of a field is what the API's document says of it.
//
// What is wrong with a request is a *fault.InvalidError, which names the field.
package message
