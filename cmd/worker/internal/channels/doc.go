// Package channels opens what the settings say about deliveries: the push target for
// messages, and the mail server and webhooks for notices.
//
// OpenPush and OpenNotices open the channels. ValidPush and ValidNotices only check the
// settings, before a store or a server is touched. An error names the wrong setting.
package channels
