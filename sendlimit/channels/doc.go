// Package channels keeps in the store which channels are stopped, and with which credentials
// a message was delivered.
//
//	         credentials refused, or the brake
//	runs ────────────────────────────────────────► stopped
//	  ▲                                               │
//	  └───────────────────────────────────────────────┘
//	    a probe passes (not after the brake), or Resume
//
// A stopped channel delivers nothing, and its messages wait. Once a minute one of the workers
// takes the turn to probe it, and resumes it if its provider accepts the credentials. A
// channel that the brake stopped waits for an operator: its provider accepts the credentials,
// and calls too many devices gone.
//
// A channel is proved once its provider has accepted a message with the present credentials.
// Until then nothing that the provider calls gone is believed.
//
// All states are fields of one small hash, as paused campaigns are. Workers read it about
// once a second. The package knows neither notifiers nor devices.
package channels
