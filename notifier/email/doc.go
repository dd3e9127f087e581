// Package email is the announcer for e-mail addresses: a notice becomes one
// message with a text and an HTML body, handed to one mail server over SMTP.
//
// # Security of the connection
//
//	smtps://host:465   TLS from the first byte
//	smtp://host:587    STARTTLS, without which nothing is said; on loopback, plain
//	                   text, unless Options.TLS says otherwise
//
// The server's certificate is checked. A user and password are sent by the best
// of the ways that the server offers (SCRAM, CRAM-MD5, PLAIN, LOGIN), and as such
// only on a secured connection or on loopback.
//
// # The message
//
// Subject and bodies come from templates, see Templates. The Message-ID is derived
// from the notice's ID and is the same at every try, so that a mailbox that knows
// it can drop the second copy. Names in a notice are put on one line before a
// template sees them, encoded in headers, and escaped in HTML: none can add a
// header, a line or an element.
//
// # The answer
//
//	accepted after DATA                 delivered
//	4xx                                 retry, unavailable
//	5xx to the recipient                permanent, misaddressed
//	5xx else                            permanent, rejected
//	the login refused, or asked for     retry, unauthorized: the operator's to mend
//	no connection, TLS, greeting        retry, unreachable: nothing was sent
//	broken off before the last dot      retry, unreachable: nothing was accepted
//	no answer to the last dot           retry, timeout or network: uncertain
//
// An answer counts from its code. Its text is not passed on: servers repeat the
// address there.
package email
