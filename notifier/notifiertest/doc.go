// Package notifiertest has the suites that every channel passes, and stand-ins for tests of
// delivery.
//
//	Run            tests the promises of package notifier
//	RunHTTP        the same for a channel over HTTP, with every status and many faults
//	RunAnnouncer   the same for an announcer
//	Recorder       a channel that records calls and answers as told
//	Receiver       a webhook's server that records requests and answers as told
//	PushService    browsers and their push service
//	FCMServer      Firebase Cloud Messaging and its token endpoint
//	MailServer     an SMTP server that records messages and answers as told
//	APNsServer     Apple's push server, which verifies tokens and breaks connections as told
//
// The stand-ins need no *testing.T, so that benchmarks and programs can use them too.
package notifiertest
