package devices

import (
	"fmt"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// TooManyError is returned when an account has registered Most devices of a user. Nothing was done.
type TooManyError struct {
	User string
}

// Error says how many devices a user may have.
func (*TooManyError) Error() string {
	return fmt.Sprintf("the user has %d devices already: remove one first", Most)
}

// Code returns fault.CodeTooManyDevices.
func (*TooManyError) Code() fault.Code { return fault.CodeTooManyDevices }

// AccountFullError is returned when an account has its maximum of devices. Nothing was done.
type AccountFullError struct {
	Account string
	Most    int64
}

// Error says how many devices the account may have.
func (e *AccountFullError) Error() string {
	return fmt.Sprintf("account %q has as many devices as its tier allows, which is %d: remove one that is not used, or raise devices of the tier", e.Account, e.Most)
}

// Code returns fault.CodeTooManyDevices.
func (*AccountFullError) Code() fault.Code { return fault.CodeTooManyDevices }
