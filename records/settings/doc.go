// Package settings stores what operators set: policies, and the settings of single
// users. The store is the only place they live.
//
//	Policies  applied, loaded, rolled back and deleted, each under a version
//	Users     settings of a user, set, updated under their version, listed and cleared
//
// A policy that settings of a user name is not deleted, and no user is given a policy that
// is being deleted: see Policies.Delete. Programs that follow the policies ask Changed which
// of them to read again.
//
// The package judges nothing. It returns an *InvalidError for what can't be stored,
// and an *UnavailableError when the store does not answer.
package settings
