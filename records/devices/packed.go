package devices

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The fields of a line, in their order.
const (
	fieldID = iota
	fieldChannel
	fieldRegistered
	fieldSuccess
	fieldApp
	fieldLocale
	fieldAccount
	fieldAddress
	fields
)

// Encode packs the devices of a user as the store keeps them: a line for each, see the
// package. It returns an *InvalidError for a device that the store would refuse.
func Encode(list []Device) (string, error) {
	var packed strings.Builder
	for i, d := range list {
		completed, err := Complete(d)
		if err == nil {
			err = checkTime(d)
		}
		if err != nil {
			return "", err
		}
		d = completed
		if i > 0 {
			packed.WriteByte('\n')
		}
		packed.WriteString(encodeLine(d))
	}
	return packed.String(), nil
}

func encodeLine(d Device) string {
	letter := letters[d.Channel]
	if d.Suspect {
		letter = strings.ToUpper(letter)
	}
	success := ""
	if !d.LastSuccess.IsZero() {
		success = strconv.FormatInt(d.LastSuccess.Unix()/secondsPerHour, base)
	}
	return strings.Join([]string{
		fieldID:         d.ID,
		fieldChannel:    letter,
		fieldRegistered: strconv.FormatInt(d.RegisteredAt.Unix(), base),
		fieldSuccess:    success,
		fieldApp:        d.App,
		fieldLocale:     d.Locale,
		fieldAccount:    d.Account,
		fieldAddress:    d.Address,
	}, " ")
}

// Times are numbers in this base.
const base = 36

const secondsPerHour = 3600

// latest is an exclusive bound for all times, in Unix seconds: 1 January 10000.
const latest = 253402300800

// Decode reads the devices of a user, in the order in which they were first registered. "" has no
// device. It does not check the form of addresses: Add did. The error does not show the text, as
// it has addresses.
func Decode(packed string) ([]Device, error) {
	if packed == "" {
		return nil, nil
	}
	list := make([]Device, 0, 1+strings.Count(packed, "\n"))
	for line := range strings.SplitSeq(packed, "\n") {
		d, err := decodeLine(line)
		if err != nil {
			return nil, fmt.Errorf("device %d of a user: %w", len(list)+1, err)
		}
		for _, other := range list {
			if other.ID == d.ID {
				return nil, fmt.Errorf("device %d of a user: %w", len(list)+1, errTwice)
			}
		}
		list = append(list, d)
	}
	return list, nil
}

var (
	errTwice    = errors.New("another one has its id")
	errFields   = errors.New("it has not 8 fields")
	errChannel  = errors.New("its channel is unknown")
	errTime     = errors.New("a time is not a number in base 36")
	errContents = errors.New("a field is out of bounds")
)

func decodeLine(line string) (Device, error) {
	field := strings.Split(line, " ")
	if len(field) != fields {
		return Device{}, errFields
	}
	letter := field[fieldChannel]
	channel, known := channels[strings.ToLower(letter)]
	if !known {
		return Device{}, errChannel
	}
	registered, ok := decodeTime(field[fieldRegistered], 1)
	if !ok {
		return Device{}, errTime
	}
	d := Device{
		ID: field[fieldID], Channel: channel, App: field[fieldApp], Account: field[fieldAccount],
		Address: field[fieldAddress], Locale: field[fieldLocale],
		RegisteredAt: registered, Suspect: letter != letters[channel],
	}
	if field[fieldSuccess] != "" {
		if d.LastSuccess, ok = decodeTime(field[fieldSuccess], secondsPerHour); !ok {
			return Device{}, errTime
		}
	}
	if check(d) != nil || d.Address == "" || len(d.Address) > MaxAddress || !printable(d.Address) {
		return Device{}, errContents
	}
	return d, nil
}

// decodeTime reads a number of units, each of unit seconds. It only accepts the form of Encode.
func decodeTime(text string, unit int64) (time.Time, bool) {
	n, err := strconv.ParseInt(text, base, 64)
	if err != nil || n < 0 || n >= latest/unit || strconv.FormatInt(n, base) != text {
		return time.Time{}, false
	}
	return time.Unix(n*unit, 0).UTC(), true
}
