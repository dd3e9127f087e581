package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// takes returns an error that says what a setting accepts.
func takes(format string, args ...any) *fault.InvalidError {
	return &fault.InvalidError{Want: fmt.Sprintf(format, args...)}
}

func text(into *string) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		*into = s
		return nil
	}
}

func account(into *string) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if s != "" && !accounts.ValidName(s) {
			return &fault.InvalidError{Want: "a name of 1 to 64 of a-z 0-9 _ -"}
		}
		*into = s
		return nil
	}
}

func prefix(into *string) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		other := strings.IndexFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-'
		})
		if len(s) > 32 || other >= 0 {
			return takes("1 to 32 of a-z 0-9 _ -")
		}
		*into = s
		return nil
	}
}

func listen(into *string) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if s == "off" {
			*into = ""
			return nil
		}
		host, valid := splitAddress(s)
		if !valid || strings.ContainsAny(host, " /") {
			return takes("an address and port such as 127.0.0.1:8080 or :8080, or off")
		}
		*into = s
		return nil
	}
}

func embeddedAddress(into *string) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if host, valid := splitAddress(s); !valid || !loopback(host) {
			return takes("a loopback address and port such as %s:"+
				" the embedded store has no password, so other machines must not reach it", EmbeddedAddress)
		}
		*into = s
		return nil
	}
}

// splitAddress returns the host of an address with a port. Port 0 is valid and means any free
// port.
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

func pushURL(into *string) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if s != LogTarget {
			u, err := url.Parse(s)
			webhook := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Fragment == ""
			if !webhook && (err != nil || notifier.ServiceScheme(s) == "") {
				return takes("log:, an http or https URL with a host such as https://push.example.com/deliver,"+
					" or the URL of a service with one of these schemes: %s", strings.Join(notifier.ServiceSchemes(), ", "))
			}
		}
		*into = s
		return nil
	}
}

// pushSecret accepts a secret of Standard Webhooks, or a list of two that both sign.
func pushSecret(into *Secret) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		secrets := strings.Join(words(s), ",")
		if _, valid := notifier.ParseSecrets(secrets); !valid {
			return takes("%s", notifier.WantSecrets)
		}
		*into = Secret(secrets)
		return nil
	}
}

// invalids returns everything that an error says is wrong.
func invalids(err error) []*fault.InvalidError {
	if several, ok := errors.AsType[fault.InvalidErrors](err); ok {
		return several
	}
	if err == nil {
		return nil
	}
	return []*fault.InvalidError{invalid(err)}
}

// invalid returns the first thing that an error says is wrong; nil for nil.
func invalid(err error) *fault.InvalidError {
	if err == nil {
		return nil
	}
	if problem, ok := errors.AsType[*fault.InvalidError](err); ok {
		return problem
	}
	return takes("%v", err)
}

func duration(into *time.Duration, least, most time.Duration) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		d, err := ParseDuration(s)
		if err != nil || d < least || d > most {
			return takes("a length of time such as 30s, 15m, 2h or 7d, from %s to %s",
				FormatDuration(least), FormatDuration(most))
		}
		*into = d
		return nil
	}
}

func number(into *int, least, most int) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return takes("a whole number from %d to %d", least, most)
		}
		*into = n
		return nil
	}
}

func boolean(into *bool) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if s != "true" && s != "false" {
			return takes("true or false")
		}
		*into = s == "true"
		return nil
	}
}

// percentage accepts a whole number with a percent sign.
func percentage(into *int, least, most int) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		digits, found := strings.CutSuffix(s, "%")
		n, err := strconv.Atoi(digits)
		if !found || err != nil || n < least || n > most {
			return takes("a percentage such as 85%%, from %d%% to %d%%", least, most)
		}
		*into = n
		return nil
	}
}

// oneOf accepts one of some words.
func oneOf(into *string, words ...string) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if !slices.Contains(words, s) {
			return takes("%s", strings.Join(words, " or "))
		}
		*into = s
		return nil
	}
}

func logLevel(into *slog.Level) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		switch s {
		case "debug":
			*into = slog.LevelDebug
		case "info":
			*into = slog.LevelInfo
		case "warn":
			*into = slog.LevelWarn
		case "error":
			*into = slog.LevelError
		default:
			return takes("debug, info, warn or error")
		}
		return nil
	}
}

func logFormat(into *LogFormat) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		switch f := LogFormat(s); f {
		case LogAuto, LogText, LogJSON:
			*into = f
			return nil
		}
		return takes("text, json or auto")
	}
}

// crossChecks returns the checks that compare settings with each other.
func crossChecks() []Check {
	return slices.Concat(credentialsOnce(), []Check{
		wholePolicy,
		func(c Config) *fault.InvalidError {
			if c.RetryMin <= c.RetryMax || c.RetryMax == 0 {
				return nil
			}
			return longer("retry_min", c.RetryMin, "retry_max", c.RetryMax)
		},
		func(c Config) *fault.InvalidError {
			if c.AlertRetryMin <= c.AlertRetryMax || c.AlertRetryMax == 0 {
				return nil
			}
			return longer("alert_retry_min", c.AlertRetryMin, "alert_retry_max", c.AlertRetryMax)
		},
		func(c Config) *fault.InvalidError {
			if c.AlertRetryMax <= c.AlertRetryFor || c.AlertRetryFor == 0 {
				return nil
			}
			return longer("alert_retry_max", c.AlertRetryMax, "alert_retry_for", c.AlertRetryFor)
		},
		// A delivery that outlives the shutdown goes back to the queue while
		// its request is under way, and the message goes out twice.
		func(c Config) *fault.InvalidError {
			if c.ShutdownTimeout > c.PushTimeout || c.PushTimeout == 0 {
				return nil
			}
			return fault.Wrong("shutdown_timeout", "shutdown_timeout, %s, has to be longer than push_timeout, %s",
				FormatDuration(c.ShutdownTimeout), FormatDuration(c.PushTimeout))
		},
	})
}

// longer returns the error for a duration that is longer than another one may make it.
func longer(field string, value time.Duration, than string, most time.Duration) *fault.InvalidError {
	return fault.Wrong(field, "%s, %s, is longer than %s, %s", field, FormatDuration(value), than, FormatDuration(most))
}
