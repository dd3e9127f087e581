package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit"
)

// maxPolicyFile bounds a file of rules, in bytes, so that a wrong name such as
// that of a device ends in a message.
const maxPolicyFile = 1 << 20

// standardInput is how a command line names it in the place of a file.
const standardInput = "-"

// readPolicy reads the rules of a YAML or JSON file. The error is a
// *config.Error with everything that is wrong with it.
func readPolicy(name string, stdin io.Reader) (sendlimit.Policy, error) {
	document, problem := decodePolicyFile(name, stdin)
	if problem != nil {
		return sendlimit.Policy{}, &config.Error{Rejected: []*sendlimit.InvalidError{problem}}
	}
	policy, problems := policyOf(document)
	if len(problems) > 0 {
		return sendlimit.Policy{}, &config.Error{Rejected: problems}
	}
	return policy, nil
}

// decodePolicyFile returns what the file has, by name.
func decodePolicyFile(name string, stdin io.Reader) (map[string]any, *sendlimit.InvalidError) {
	reject := func(want string, args ...any) (map[string]any, *sendlimit.InvalidError) {
		return nil, &sendlimit.InvalidError{Field: "file", Value: name, Want: fmt.Sprintf(want, args...)}
	}
	from := stdin
	if name != standardInput {
		file, err := os.Open(name) //nolint:gosec // the operator names the file
		if err != nil {
			return reject("the name of a file that can be read, or - for standard input: %v", cause(err))
		}
		defer file.Close()
		from = file
	}
	bounded := &io.LimitedReader{R: from, N: maxPolicyFile + 1}
	decoder := yaml.NewDecoder(bounded)
	var document, more any
	err := decoder.Decode(&document)
	switch _, failed := errors.AsType[*fs.PathError](err); {
	case bounded.N == 0:
		return reject("a file of at most %d bytes", maxPolicyFile)
	case failed:
		return reject("the name of a file that can be read, or - for standard input: %v", cause(err))
	case err != nil && !errors.Is(err, io.EOF):
		return reject("YAML or JSON: %s", syntaxProblem(err))
	case err == nil && !errors.Is(decoder.Decode(&more), io.EOF):
		return reject("YAML or JSON with one document")
	}
	entries, ok := document.(map[string]any)
	if !ok && document != nil {
		return reject("YAML or JSON with time_zone and rules")
	}
	return entries, nil
}

// cause is an error of the file system without the name of the file.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// syntaxProblem is an error of the parser in one line.
func syntaxProblem(err error) string {
	problem, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return err.Error()
	}
	if token := problem.GetToken(); token != nil && token.Position != nil {
		return fmt.Sprintf("line %d, column %d: %s", token.Position.Line, token.Position.Column, problem.GetMessage())
	}
	return problem.GetMessage()
}

// policyOf makes a policy of the entries of a file, or says everything that is
// wrong with them.
func policyOf(entries map[string]any) (sendlimit.Policy, []*sendlimit.InvalidError) {
	var problems []*sendlimit.InvalidError
	reject := func(field string, value any, want string) {
		problems = append(problems, &sendlimit.InvalidError{Field: field, Value: fmt.Sprint(value), Want: want})
	}
	policy := sendlimit.Policy{Name: sendlimit.DefaultPolicyName}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		switch value := entries[key]; key {
		case "time_zone":
			zone, ok := value.(string)
			if !ok && value != nil {
				reject(key, value, "an IANA time zone such as Europe/Berlin")
			}
			if zone != "UTC" { // which a policy spells as none
				policy.TimeZone = zone
			}
		case "rules":
			list, ok := value.([]any)
			if !ok && value != nil {
				reject(key, value, "a list of rules such as [1/minute, 5/hour]")
			}
			for _, text := range list {
				rule, err := sendlimit.ParseRule(fmt.Sprint(text))
				if problem, ok := errors.AsType[*sendlimit.InvalidError](err); ok {
					reject(key, text, problem.Want)
				}
				policy.Rules = append(policy.Rules, rule)
			}
		case "alert_at":
			policy.AlertAt = percentsOf(value, func(wrong any) {
				reject(key, wrong, "a list of percents such as [80, 100]; [] for no alerts")
			})
		case "alert_to":
			to, ok := value.(string)
			if !ok && value != nil {
				reject(key, value, "an e-mail address or an https: URL")
			}
			policy.AlertTo = to
		default:
			reject("setting", key, "one of time_zone, rules, alert_at, alert_to")
		}
	}
	if len(problems) > 0 {
		return policy, problems
	}
	// What is left to be wrong concerns the policy as a whole.
	if problem, ok := errors.AsType[*sendlimit.InvalidError](policy.Validate()); ok {
		problems = append(problems, problem)
	}
	return policy, problems
}

// percentsOf reads a list of percents; nil where there is none, and empty where it
// says that there are none. What is not one is rejected.
func percentsOf(value any, reject func(any)) []int {
	list, ok := value.([]any)
	if !ok {
		if value != nil {
			reject(value)
		}
		return nil
	}
	percents := make([]int, len(list))
	for i, entry := range list {
		percent, err := strconv.Atoi(fmt.Sprint(entry))
		if err != nil {
			reject(entry)
		}
		percents[i] = percent
	}
	return percents
}
