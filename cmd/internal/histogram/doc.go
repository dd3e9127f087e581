// Package histogram counts the outcomes of a campaign over time: how many messages would
// be sent when, and how many are refused. Its memory is bounded. It need not know the time
// span beforehand.
package histogram
