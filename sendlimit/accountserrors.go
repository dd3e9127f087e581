package sendlimit

import "fmt"

// NoSuchError is returned when what a change names is not there. Nothing was
// done.
type NoSuchError struct {
	What string // "account", "key", "tier" or "policy"
	Name string
}

// Error names what is not there.
func (e *NoSuchError) Error() string { return fmt.Sprintf("there is no %s %q", e.What, clip(e.Name)) }

// Code returns CodeNotFound.
func (e *NoSuchError) Code() Code { return CodeNotFound }

func noSuchAccount(name string) error { return &NoSuchError{What: "account", Name: name} }
