package messages

// The words for what became of a message. A message still to be sent is postponed if it was
// postponed since its last move, else moved if it was moved, else scheduled.
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

// Statuses lists the words that Info.Status returns of a message with a record.
func Statuses() []string {
	return []string{
		StatusScheduled, StatusPostponed, StatusMoved, StatusSending, StatusDelivered, StatusDropped, StatusFailed,
		StatusUncertain, StatusCancelled,
	}
}

// Status returns the word for what became of the message; "" without a record.
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
	case StateSending:
		return StatusSending
	case StateDelivered:
		return StatusDelivered
	case StateCancelled:
		return StatusCancelled
	case StateDropped:
		return StatusDropped
	case StateFailed:
		return StatusFailed
	case StateUncertain:
		return StatusUncertain
	case StateUnknown:
	}
	return ""
}
