package messages

// Values of Info.Status. A message still to be sent is postponed if it was postponed since its last
// move, otherwise moved if it was moved, otherwise scheduled.
const (
	StatusScheduled = "scheduled"
	StatusPostponed = "postponed"
	StatusMoved     = "moved"
	StatusSending   = "sending"
	StatusDelivered = "delivered"
	StatusDropped   = "dropped"
	StatusFailed    = "failed"
	StatusUncertain = "uncertain"
	StatusCancelled = "cancelled"
)

// Statuses returns the values of Info.Status, without "".
func Statuses() []string {
	return []string{
		StatusScheduled, StatusPostponed, StatusMoved, StatusSending, StatusDelivered, StatusDropped, StatusFailed,
		StatusUncertain, StatusCancelled,
	}
}

// Status returns the word for the state of the message; "" without a record.
func (s Info) Status() string {
	switch s.State {
	case StatePending:
		switch {
		case !s.Promised.IsZero():
			return StatusPostponed
		case !s.MovedFrom.IsZero():
			return StatusMoved
		default:
			return StatusScheduled
		}
	case StateUnknown:
		return ""
	default:
		return s.State.String()
	}
}
