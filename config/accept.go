package config

import (
	"log/slog"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

// accepts says which values a setting accepts, and stores them.
type accepts struct {
	// kind is the word for a value in the help; a setting without a kind has no flag.
	kind string
	// store puts a value into the Config. If it rejects the value, Want says what is allowed, and
	// Value is the wrong part, or empty for the whole value.
	store func(string) *fault.InvalidError
	// log returns the value for the log; nil for parts of the policy, which is logged as a whole.
	log func() any
	// show redacts a rejected value; nil leaves it unchanged.
	show func(string) string
	// list is set if the file may have a list.
	list bool
	// words are all allowed values; nil if there are too many.
	words []string
}

// read stores the value that parse returns.
func read[T any](kind string, into *T, parse func(string) (T, *fault.InvalidError)) accepts {
	return accepts{
		kind: kind,
		store: func(s string) *fault.InvalidError {
			value, problem := parse(s)
			if problem == nil {
				*into = value
			}
			return problem
		},
		log: func() any { return *into },
	}
}

// matching accepts texts that match; want describes them.
func matching(kind string, into *string, match func(string) bool, want string) accepts {
	return read(kind, into, func(s string) (string, *fault.InvalidError) {
		if !match(s) {
			return "", takes("%s", want)
		}
		return s, nil
	})
}

func text(kind string, into *string) accepts {
	return matching(kind, into, func(string) bool { return true }, "")
}

// shown redacts the value in the log and in errors.
func shown(a accepts, show func(string) string) accepts {
	value := a.log
	a.show = show
	a.log = func() any {
		s, _ := value().(string)
		return show(s)
	}
	return a
}

// listed accepts a list in the file, too.
func listed(a accepts) accepts {
	a.list = true
	return a
}

// worded accepts only some words.
func worded(a accepts, words ...string) accepts {
	a.words = words
	return a
}

// secret accepts any text. It has no flag, because all users of a machine can read command lines.
func secret(into *Secret) accepts {
	a := read("", into, func(s string) (Secret, *fault.InvalidError) { return Secret(s), nil })
	a.show = hideSecret
	return a
}

// signing accepts one secret of Standard Webhooks, or two that both sign.
func signing(into *Secret) accepts {
	a := listed(read("", into, func(s string) (Secret, *fault.InvalidError) {
		secrets := strings.Join(words(s), ",")
		if _, valid := notifier.ParseSecrets(secrets); !valid {
			return "", takes("%s", notifier.WantSecrets)
		}
		return Secret(secrets), nil
	}))
	a.show = hideSecret
	return a
}

func account(into *string) accepts {
	return matching("name", into, accounts.ValidName, "a name of 1 to 64 of a-z 0-9 _ -")
}

func prefix(into *string) accepts {
	return matching("name", into, func(s string) bool {
		return len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
	}, "1 to 32 of a-z 0-9 _ -")
}

func listen(into *string) accepts {
	return read("address", into, func(s string) (string, *fault.InvalidError) {
		if s == "off" {
			return "", nil
		}
		if host, valid := splitAddress(s); !valid || strings.ContainsAny(host, " /") {
			return "", takes("an address and port such as 127.0.0.1:8080 or :8080, or off")
		}
		return s, nil
	})
}

// basePath accepts a path of plain segments, which need no escaping in links, cookies and settings
// of proxies.
func basePath(into *string) accepts {
	plain := regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)
	return matching("path", into, func(s string) bool { return len(s) <= 64 && plain.MatchString(s) },
		"a path such as /sendlimit, without a slash at its end: up to 64 of A-Z a-z 0-9 . _ ~ - in segments that begin with no dot")
}

func pushURL(into *string) accepts {
	return shown(matching("url", into, func(s string) bool {
		u, err := url.Parse(s)
		webhook := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Fragment == ""
		return s == LogTarget || webhook || err == nil && notifier.ServiceScheme(s) != ""
	}, "log:, an http or https URL with a host such as https://push.example.com/deliver,"+
		" or the URL of a service with one of these schemes: "+strings.Join(notifier.ServiceSchemes(), ", ")), notifier.RedactURL)
}

func apiURL(into *string) accepts {
	return shown(matching("url", into, func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && !strings.ContainsAny(s, "?#")
	}, "an http or https URL such as https://push.example.com, without a user, a password or a query"), notifier.RedactURL)
}

func emailURL(into *string) accepts {
	return shown(matching("url", into, func(s string) bool {
		u, err := url.Parse(s)
		return s == LogTarget || err == nil && (u.Scheme == "smtp" || u.Scheme == "smtps") && u.Hostname() != ""
	}, "log:, or an smtp or smtps URL with a host such as smtp://mail.example.com:587"), notifier.RedactURL)
}

// endpoint accepts an https URL without a path. On loopback it accepts http, too.
func endpoint(into *string) accepts {
	return shown(read("url", into, func(s string) (string, *fault.InvalidError) {
		u, err := url.Parse(s)
		if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" ||
			u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
			return "", takes("an https URL of a host, such as https://push.example.com; on loopback http is allowed")
		}
		return strings.TrimSuffix(s, "/"), nil
	}), notifier.RedactURL)
}

// list accepts words separated by commas.
func list(into *[]string) accepts {
	return listed(read("list", into, func(s string) ([]string, *fault.InvalidError) { return words(s), nil }))
}

// topics accepts APP=BUNDLE pairs separated by commas.
func topics(into *map[string]string) accepts {
	return listed(read("list", into, func(s string) (map[string]string, *fault.InvalidError) {
		var found map[string]string
		for _, word := range words(s) {
			app, bundle, ok := strings.Cut(word, "=")
			if !ok || app == "" || bundle == "" {
				return nil, &fault.InvalidError{Value: word, Want: "a list of APP=BUNDLE such as driver=com.example.driver"}
			}
			if found == nil {
				found = make(map[string]string)
			}
			found[app] = bundle
		}
		return found, nil
	}))
}

// networks accepts addresses and networks separated by commas.
func networks(into *[]netip.Prefix) accepts {
	return listed(read("networks", into, func(s string) ([]netip.Prefix, *fault.InvalidError) {
		var found []netip.Prefix
		for _, word := range words(s) {
			network, err := netip.ParsePrefix(word)
			if address, one := netip.ParseAddr(word); one == nil && address.Zone() == "" {
				network, err = netip.PrefixFrom(address, address.BitLen()), nil
			}
			if err != nil {
				return nil, &fault.InvalidError{Value: word, Want: "networks and addresses such as 10.0.0.0/8, 192.0.2.7"}
			}
			found = append(found, network.Masked())
		}
		return found, nil
	}))
}

func duration(into *time.Duration, least, most time.Duration) accepts {
	return read("duration", into, func(s string) (time.Duration, *fault.InvalidError) {
		d, err := calendar.ParseDuration(s)
		if err != nil || d < least || d > most {
			return 0, takes("a length of time such as 30s, 15m, 2h or 7d, from %s to %s", calendar.FormatDuration(least), calendar.FormatDuration(most))
		}
		return d, nil
	})
}

func number[N int | int64](into *N, least, most N) accepts {
	return read("number", into, func(s string) (N, *fault.InvalidError) {
		n, err := strconv.Atoi(s)
		if err != nil || N(n) < least || N(n) > most {
			return 0, takes("a whole number from %d to %d", least, most)
		}
		return N(n), nil
	})
}

// percentage accepts a whole number followed by a percent sign.
func percentage(into *int, least, most int) accepts {
	return read("percentage", into, func(s string) (int, *fault.InvalidError) {
		digits, found := strings.CutSuffix(s, "%")
		n, err := strconv.Atoi(digits)
		if !found || err != nil || n < least || n > most {
			return 0, takes("a percentage such as 85%%, from %d%% to %d%%", least, most)
		}
		return n, nil
	})
}

func boolean(into *bool) accepts {
	return read("bool", into, func(s string) (bool, *fault.InvalidError) {
		if s != "true" && s != "false" {
			return false, takes("true or false")
		}
		return s == "true", nil
	})
}

func oneOf[T ~string](kind string, into *T, words ...string) accepts {
	return worded(read(kind, into, func(s string) (T, *fault.InvalidError) {
		if !slices.Contains(words, s) {
			return "", takes("%s", either(words))
		}
		return T(s), nil
	}), words...)
}

// either joins words: "auto, text or json".
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func logLevel(into *slog.Level) accepts {
	levels := []string{"debug", "info", "warn", "error"}
	return worded(read("level", into, func(s string) (level slog.Level, problem *fault.InvalidError) {
		if !slices.Contains(levels, s) || level.UnmarshalText([]byte(s)) != nil {
			return 0, takes("%s", either(levels))
		}
		return level, nil
	}), levels...)
}

func paceRate(into *rate.Rate) accepts {
	return read("rate", into, func(s string) (rate.Rate, *fault.InvalidError) {
		r, err := rate.Parse(s)
		if problem := invalid(err); problem != nil {
			return r, takes("%s", problem.Want)
		}
		return r, nil
	})
}
