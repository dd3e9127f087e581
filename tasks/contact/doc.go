// Package contact checks contacts of users, accounts and policies for the API, the commands and the
// settings.
//
// The users of a service set contacts, and could make it call internal servers. So a URL
// with an internal address is refused when it is set. A name with an
// internal address is found only at delivery: the notifier refuses to connect to it.
package contact
