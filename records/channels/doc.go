// Package channels keeps in the store which channels are stopped, and with which credentials
// a message was delivered.
//
//	         credentials refused, or the brake
//	runs ────────────────────────────────────────► stopped
//	  ▲                                               │
//	  └───────────────────────────────────────────────┘
//	    a probe passes, other credentials deliver, or Resume
//
// A stopped channel delivers nothing, and its messages wait. One worker at a time takes the turn to
// probe it, and resumes it if its provider accepts.
//
// Workers note each second that a provider accepts messages, and with which credentials. Until it
// has accepted one with the present credentials, nothing that it calls gone is believed.
//
// All states are fields of one small hash, as paused campaigns are. Workers read it about
// once a second. The package knows neither notifiers nor devices.
package channels
