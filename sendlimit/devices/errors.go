package devices

import (
	"fmt"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// TooManyError is returned when an account has registered as many devices of a user as are
// allowed. Nothing was done.
type TooManyError struct {
	User string
}

// Error says how many devices a user may have.
func (*TooManyError) Error() string {
	return fmt.Sprintf("the user has %d devices already: remove one first", Most)
}

// Code returns fault.CodeTooManyDevices.
func (*TooManyError) Code() fault.Code { return fault.CodeTooManyDevices }
