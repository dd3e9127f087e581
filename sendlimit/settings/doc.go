// Package settings stores what operators set: policies, and the settings of single
// users. The store is the only place they live.
//
//	Policies  applied, loaded and removed, each under a version
//	Users     settings of a user, set, updated under their version and cleared
//
// The package judges nothing. It returns an *InvalidError for what can't be stored,
// and an *UnavailableError when the store does not answer.
package settings
