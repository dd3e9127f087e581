// Package channels opens the channels of the settings: the push target and the channels to devices
// for messages, the mail server and webhooks for alerts.
//
// OpenAll and OpenNotices open the channels. ValidPush, ValidNotices and ValidDevices only check
// the settings, before a store or a server is touched. An error names each wrong setting. A secret
// may be in a file: then the channel is opened again when the file changes.
package channels
