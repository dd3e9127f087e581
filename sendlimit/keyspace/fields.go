package keyspace

// The fields of a message's record. There are as many records as messages, so
// that the store has a letter for each. lua/fragments/record.lua says more.
const (
	RecordGeneration  = "g"
	RecordState       = "s"
	RecordSendAt      = "t"
	RecordPromised    = "p"
	RecordRequestedAt = "r"
	RecordShifted     = "h"
	RecordMovedFrom   = "m"
	RecordMovesSince  = "d"
	RecordMoves       = "j"
	RecordFingerprint = "f"
	RecordExpiresAt   = "x"
	RecordCategory    = "k"
	RecordContent     = "c"
	RecordAttempts    = "n"
	RecordNotBefore   = "a"
	RecordNonce       = "o"
	RecordLeaseEnd    = "u"
	RecordLooks       = "v"
	RecordLookedAt    = "l"
	RecordUncertain   = "q"
	RecordWaitsSince  = "b"
	RecordEndedAt     = "e"
	RecordReason      = "w"
	RecordProviderID  = "i"
	RecordCharge      = "y"
	RecordUncounted   = "z"
	RecordCampaign    = "C"
	RecordMetadata    = "M"
	RecordProgress    = "D"
	RecordAcceptedAt  = "A"
	RecordTrace       = "L"
	RecordChanges     = "H"
)

// The fields of a notice. lua/fragments/outbox.lua says more.
const (
	NoticeKind       = "k"
	NoticeSubject    = "s"
	NoticeBegin      = "d"
	NoticeThreshold  = "h"
	NoticeUsed       = "u"
	NoticeLimit      = "l"
	NoticeDetails    = "x"
	NoticeState      = "z"
	NoticeAttempts   = "n"
	NoticeNotBefore  = "a"
	NoticeNonce      = "o"
	NoticeLeaseEnd   = "v"
	NoticeEndedAt    = "e"
	NoticeReason     = "w"
	NoticeProviderID = "i"
	NoticeClaimedAt  = "b"
	NoticeRevival    = "g"
	NoticeFailedAt   = "t"
	NoticeUnsettled  = "c"
	NoticeLooks      = "f"
	NoticeLookedAt   = "y"
)

// The fields of an event. lua/fragments/event.lua says more.
const (
	EventLines    = "e"
	EventMetadata = "M"
	// Of a dead event only: why its callback did not take it, and when it was given up.
	DeadEventWhy = "x"
	DeadEventAt  = "z"
)

// EventsAppended is the field of AccountGathered with the number of events appended.
const EventsAppended = "n"

// The fields of the state of a callback. lua/fragments/callback.lua says what they are.
const (
	CallbackPassed      = "m"
	CallbackLost        = "g"
	CallbackAttempts    = "a"
	CallbackFailing     = "f"
	CallbackSucceededAt = "s"
	CallbackFailedAt    = "l"
	CallbackReason      = "w"
	CallbackNextAt      = "r"
)
