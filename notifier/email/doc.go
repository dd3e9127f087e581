// Package email is the announcer for e-mail addresses. It sends a notice as one message with a text
// and an HTML body over SMTP.
//
// # Security of the connection
//
//	smtps://host:465   TLS from the first byte
//	smtp://host:587    STARTTLS is required; on loopback, plain text; see Options.TLS
//
// The server's certificate is checked. The login uses the best method of the server (SCRAM,
// CRAM-MD5, PLAIN, LOGIN). A method that sends the password is used only on a secured connection or
// on loopback.
//
// # The message
//
// Subject and bodies come from templates, see Templates. The Message-ID is derived from the
// notice's ID and is the same at every attempt, so that a mailbox can drop a second copy. Names in
// a notice are put on one line, encoded in headers and escaped in HTML: they can't add a header, a
// line or an element.
//
// # The answer
//
//	accepted after DATA                 delivered
//	4xx                                 retry, unavailable
//	5xx to the recipient                permanent, misaddressed
//	other 5xx                           permanent, rejected
//	login refused or required           retry, unauthorized: the operator has to fix it
//	no connection, TLS or greeting      retry, unreachable: nothing was sent
//	connection lost before last dot     retry, unreachable: nothing was accepted
//	no answer to the last dot           retry, timeout or network: uncertain
//
// Each step has a timeout, see Timeouts. A session that still works ends with QUIT, also after a
// refusal. It is sent in a notifier.Cleanup, without waiting for its answer.
//
// Only the code of an answer is used. Its text is not shown, since servers repeat the address in
// it.
package email
