package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// takes returns an error that says what a setting accepts. Its caller names the field.
func takes(format string, args ...any) *fault.InvalidError {
	return &fault.InvalidError{Want: fmt.Sprintf(format, args...)}
}

// splitAddress returns the host of an address with a port. Port 0 means any free port.
func splitAddress(s string) (host string, valid bool) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return host, err == nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// invalids returns the problems in an error.
func invalids(err error) []*fault.InvalidError {
	all := fault.All[*fault.InvalidError](err)
	if len(all) == 0 && err != nil {
		return []*fault.InvalidError{takes("%v", err)}
	}
	return all
}

// invalid returns the first problem in an error; nil for nil.
func invalid(err error) *fault.InvalidError {
	if all := invalids(err); len(all) > 0 {
		return all[0]
	}
	return nil
}

// emptyList is the spelling of an empty list.
const emptyList = "[]"

// words returns the elements of a list.
func words(s string) []string {
	if s == emptyList {
		return nil
	}
	list := strings.Split(s, ",")
	for i, word := range list {
		list[i] = strings.TrimSpace(word)
	}
	return list
}
