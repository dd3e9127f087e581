// Package settings stores policies and the settings of single users. They are nowhere else.
//
//	Policies  applied, loaded, rolled back and deleted, each under a version
//	Users     settings of a user, set, updated under their version, listed and cleared
//
// A policy that settings of a user name can't be deleted, and no user gets a policy that is being
// deleted: see Policies.Delete. Programs that follow the policies use Changed to find those to read
// again.
//
// The package does not judge messages. It returns an *InvalidError for values that can't be stored,
// and an *UnavailableError if the store does not answer.
package settings
