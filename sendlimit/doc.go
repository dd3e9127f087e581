// Package sendlimit limits messages by the time they are to be sent, ahead of
// that time: "push this to user U at T" is judged when it is asked for, against
// everything else that U is going to receive around T.
//
// A Timeline keeps each user's send times in a Redis ZSET (member: message id,
// score: send time) and judges a policy of rules over it: sliding ("no minute,
// wherever it starts, holds more than 1") and calendar ("no natural day holds
// more than 10"). Every operation is one Lua script and one round trip, so that
// any number of processes may ask at once:
//
//	Reserve   takes a place, or the next free one; or says what is in the way
//	Check     says what Reserve would, and writes nothing
//	Move      gives a reservation another place, keeping the old one if refused
//	Release   gives a reservation back
//	NextFree  List  Usage   look around
//
// Submits come in any order of send time: a place between two others is given
// only if their windows hold too. The rules are judged by the server's clock;
// a request's Now replaces it in tests.
//
// With records (Options.Records) a message's content and state live beside its
// place, and more parts see it to its end:
//
//	 Reserve ──► pending ──Claim──► being sent ──Settle──► delivered
//	              ▲ │ │                │  │  └──Settle──► failed, its place freed
//	              │ │ ├─Release► cancelled │  └──Settle or a later Claim──► uncertain
//	    postponed └─┤ └─Claim──► dropped   │
//	      (Claim)   └────────── retry ─────┘ (Settle)
//
//	Gate         Claim takes a message for one delivery, Settle says what became of it
//	WatchList    every message not ended, and when to look after it
//	Records      what the store knows of a message, ended ones included
//	DeadLetters  what failed for good or is uncertain, to be sent after all or purged
//	PolicyStore  the rules, which live in the store and nowhere else
//
// The record is the truth: whatever carries the timer brings a generation, and
// a Claim with any but the present one is stale. So no queue has to be able to
// take a task back, and somebody with another queue than ours loses nothing.
//
// # Whose rules
//
// A Policy is the rules of its users and of single categories, their quiet hours,
// and how far ahead they can be written to. Options.Policy judges everybody but
// those whose UserSettings name another one; a user's limits stand for rules of the
// same window, and quiet hours are in a user's own time zone. A timeline takes the
// settings that its SettingsCache knows, and each script first compares their
// version with the store's: a change holds from the very next decision on, and
// nobody looks beforehand.
//
// Quiet is what the clocks show as quiet. Where they skip an hour there is none of
// it, and where they show one twice both are.
//
// A category has no timeline of its own: its rules count those of the user's places
// whose records name it, and look at records only where there are as many places as
// a rule allows. So they hold from the moment they are laid down, for what was
// accepted before, too, and nothing has to be kept in step. What is exempt and does
// not count has its places beside the timeline, where no rule looks.
//
// # Late messages
//
// What was promised for a time goes out within Options.Tolerance of it at its
// place, so that every promise made from that place holds. Later than that the
// rules are judged anew at the real time. The first Claim of a late message
// places all of its user's that are late and unsent, oldest first: each at the
// next free time, given everything that is still on time, under a new
// generation. So an outage never ends in a burst, those on time stay on time,
// and order is kept among the late. No message is postponed past its expiry.
//
// For that, a message has to be found by its place for as long as it may be
// sent: a place that no rule looks at any more is forgotten only when its
// message has ended, and a timeline outlives the expiry of each. The late mark,
// a key that only users with much behind them have, says up to where a timeline
// has nothing open, so that a Claim need not look there again; without it the
// answer is the same.
//
// # Beside the timeline
//
// The other limiters answer with the same Decision, each from one script:
//
//	Counters     calls in natural periods or windows, several counters all or none
//	EventStore   their limits by the name of an event, changed while running
//	Guard        a function or a handler that runs only where Counters allow it
//	Permits      calls in any window of a length, over all processes
//	TokenBucket  bursts, refilled as time passes
//	Charges      messages of an account, in the hour and day of their send times
//
// A user and an account may live on two servers, so no script has both. A change
// is charged first, as a hold; made with that Hold, which the record names; and
// settled. Whoever finds a hold left open reads in the record whether its change
// was made, so that charge and timeline come together however a program dies.
//
// Who counts also alerts: where a count reaches a threshold, the same script sets
// the flag of that day and puts a notice into the outbox, Notices, from where it
// is delivered once. A flag stands for all lower thresholds and is never taken
// back, so that neither a jump nor a cancel makes a second alert.
//
// Accounts, EventStore, PaceStore and UserSettingsStore keep what operators set;
// like the rules, it lives in the store and nowhere else.
//
// What it does not do: it holds no timers, sends nothing, and knows no queue.
// What was reserved under older rules keeps its place under newer ones; what
// was forgotten under a shorter window stays forgotten under a longer one.
package sendlimit
