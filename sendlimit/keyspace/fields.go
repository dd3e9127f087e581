package keyspace

// Fields of a message's record. There are as many records as messages, so each field is one letter.
// See lua/fragments/record.lua.
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
	RecordReplaces    = "X"
	RecordEdited      = "E"
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
	RecordLocal       = "W"
	RecordChanges     = "H"
)

// Fields of an alert. See lua/fragments/outbox.lua.
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

// Fields of an event. See lua/fragments/event.lua.
const (
	EventLines    = "e"
	EventMetadata = "M"
	EventAsked    = "W"
	// Fields of a dead event only: why its callback did not accept it, and when it was given up.
	DeadEventWhy = "x"
	DeadEventAt  = "z"
)

// EventsAppended is the field of AccountGathered with the number of events appended.
const EventsAppended = "n"

// Fields of the state of a callback. See lua/fragments/callback.lua.
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
