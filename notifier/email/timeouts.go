package email

import (
	"cmp"
	"time"
)

// Timeouts bound the steps of a session. Zero means the default, which is that of RFC 5321,
// 4.5.3.2. Many servers check a message before they accept it: a client that gives up earlier sends
// it twice.
type Timeouts struct {
	Connect  time.Duration // including TLS from the first byte; 30 s
	Greeting time.Duration // 5 minutes
	Command  time.Duration // each of EHLO, STARTTLS, the login, MAIL and RCPT; 5 minutes
	Data     time.Duration // until the server is ready for the message; 2 minutes
	Content  time.Duration // sending the message; 3 minutes
	Accepted time.Duration // from the end of the message to its acceptance; 10 minutes
}

func (t Timeouts) withDefaults() Timeouts {
	return Timeouts{
		Connect:  cmp.Or(t.Connect, 30*time.Second),
		Greeting: cmp.Or(t.Greeting, 5*time.Minute),
		Command:  cmp.Or(t.Command, 5*time.Minute),
		Data:     cmp.Or(t.Data, 2*time.Minute),
		Content:  cmp.Or(t.Content, 3*time.Minute),
		Accepted: cmp.Or(t.Accepted, 10*time.Minute),
	}
}
