package find

import "github.com/sendlimit/sendlimiter/sendlimit/fault"

// ErrIndexOff is returned for a search that needs the index of the ids while it is off.
var ErrIndexOff error = indexOffError{}

type indexOffError struct{}

// Error says what to do.
func (indexOffError) Error() string {
	return "there is no index of all messages: name the campaign, ask with the user, or set index: true, which indexes new messages"
}

// Code returns fault.CodeIndexOff.
func (indexOffError) Code() fault.Code { return fault.CodeIndexOff }
