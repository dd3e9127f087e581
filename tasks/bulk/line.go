package bulk

import (
	"errors"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/input"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Line is one line of a file, or a CSV record of several lines.
type Line struct {
	Number  int // from 1
	Message message.Message
	// Invalid says what is wrong with the line. Message has at most ID and User then.
	Invalid *fault.InvalidError
}

// LineOf returns a record as a line, with times read by parse.
func LineOf(record input.Record, parse message.TimeParser) Line {
	line := Line{Number: record.Line, Invalid: record.Invalid}
	if line.Invalid != nil {
		return line
	}
	m, err := record.Draft.Message(parse)
	line.Message = m
	if err == nil {
		return line
	}
	invalid, ok := errors.AsType[*fault.InvalidError](err)
	if !ok {
		invalid = &fault.InvalidError{Field: "message", Value: err.Error(), Want: "a message"}
	}
	line.Invalid = invalid
	return line
}
