// Package channels opens what the settings say about deliveries: the push target for
// messages, and the mail server and webhooks for notices.
//
// OpenAll and OpenNotices open the channels. ValidPush, ValidNotices and ValidDevices only check
// the settings, before a store or a server is touched. An error names each wrong setting. A secret
// may be in a file: then the channel is opened again when the file changes.
package channels
