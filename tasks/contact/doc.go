// Package contact says which contacts of users, accounts and policies may be set. All that
// set one ask it: the API, the commands and the settings.
//
// The users of a service name contacts, and could have it call internal servers. So a URL
// whose host is an internal address is refused when it is set. A name whose address is
// internal is found only when a notice is delivered: the notifier refuses to connect to it.
package contact
