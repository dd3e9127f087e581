package bulk

import (
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

// Line is one line of a file, or a CSV record of several lines.
type Line struct {
	Number  int // from 1
	Message message.Message
	// Invalid says what is wrong with the line, nil if it is valid. Of an invalid line only the
	// message's ID and User are used.
	Invalid fault.InvalidErrors
}

// LineOf returns a record as a line. read makes a message of its draft: Draft.Message or
// Draft.Sent, with a TimeParser.
func LineOf(record input.Record, read func(message.Draft) (message.Message, error)) Line {
	line := Line{Number: record.Line}
	if record.Invalid != nil {
		line.Invalid = fault.InvalidErrors{record.Invalid}
		return line
	}
	m, err := read(record.Draft)
	line.Message = m
	if err == nil {
		return line
	}
	line.Invalid.Add(err)
	if line.Invalid == nil {
		line.Invalid.Add(&fault.InvalidError{Field: "message", Value: err.Error(), Want: "a message"})
	}
	return line
}
