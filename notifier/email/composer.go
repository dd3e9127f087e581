package email

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"github.com/sendlimit/sendlimiter/notifier"
)

// ErrAddress is returned for a contact that is not a single e-mail address without a name.
var ErrAddress = errors.New("the contact is not an e-mail address")

// Composer composes e-mails from notices. NewComposer and Open create one.
type Composer struct {
	from      *mail.Address
	templates *Templates
	now       func() time.Time
}

// NewComposer returns a Composer with a sender and the templates of a folder ("" for the embedded
// ones). Arguments and errors are as in Options.
func NewComposer(from, templates string, now func() time.Time) (*Composer, error) {
	address, err := parseFrom(from)
	loaded, problem := LoadTemplates(templates)
	if now == nil {
		err = errors.Join(err, errors.New("e-mail needs a clock"))
	}
	if err := errors.Join(err, problem); err != nil {
		return nil, err
	}
	return &Composer{from: address, templates: loaded, now: now}, nil
}

// Message is the e-mail of a notice.
type Message struct {
	Content

	raw *gomail.Msg
}

// WriteTo writes the message as it is sent, with headers.
func (m Message) WriteTo(w io.Writer) (int64, error) {
	n, err := m.raw.WriteTo(w)
	if err != nil {
		return n, fmt.Errorf("writing a message: %w", err)
	}
	return n, nil
}

// Headers returns the headers of the message.
func (m Message) Headers() (string, error) {
	var text bytes.Buffer
	if _, err := m.WriteTo(&text); err != nil {
		return "", err
	}
	head, _, _ := strings.Cut(text.String(), "\r\n\r\n")
	return strings.ReplaceAll(head, "\r\n", "\n") + "\n", nil
}

// Compose returns the e-mail of a notice. The error is ErrAddress, or that of a template.
func (c *Composer) Compose(to string, n notifier.Notice) (Message, error) {
	if !bare(to) {
		return Message{}, ErrAddress
	}
	content, err := c.templates.Render(n)
	if err != nil {
		return Message{}, err
	}
	raw := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	raw.FromMailAddress(c.from)
	raw.ToMailAddress(&mail.Address{Address: to})
	raw.Subject(encodeSubject(content.Subject))
	raw.SetDateWithValue(c.now())
	raw.SetMessageIDWithValue(c.messageID(n.ID))
	// RFC 3834: no automatic replies.
	raw.SetGenHeader("Auto-Submitted", "auto-generated")
	raw.SetGenHeader(gomail.HeaderXAutoResponseSuppress, "All")
	raw.SetBodyString(gomail.TypeTextPlain, content.Text)
	raw.AddAlternativeString(gomail.TypeTextHTML, content.HTML)
	return Message{Content: content, raw: raw}, nil
}

// messageID returns the Message-ID of a notice. It is the same at every attempt and in every
// version.
func (c *Composer) messageID(id string) string {
	sum := sha256.Sum256([]byte(id))
	_, domain, _ := strings.Cut(c.from.Address, "@")
	return hex.EncodeToString(sum[:16]) + "@" + domain
}

// encodeSubject encodes an ASCII subject that looks encoded, such as that of the user
// "=?utf-8?q?alice?=", which readers would decode. The mail library encodes all other characters.
func encodeSubject(subject string) string {
	isASCII := strings.IndexFunc(subject, func(r rune) bool { return r > unicode.MaxASCII }) < 0
	if !strings.Contains(subject, "=?") || !isASCII {
		return subject
	}
	const perWord = 45 // 72 characters with the delimiters; RFC 2047 allows 75
	var words []string
	for part := range slices.Chunk([]byte(subject), perWord) {
		words = append(words, "=?UTF-8?b?"+base64.StdEncoding.EncodeToString(part)+"?=")
	}
	return strings.Join(words, " ")
}
