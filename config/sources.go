package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// envPrefix begins the name of every setting in the environment except REDIS_URL.
const envPrefix = "SENDLIMIT_"

// Program selects the settings that a program has as flags.
type Program uint8

// The programs.
const (
	Worker   Program = iota // all settings except those of a caller
	Commands                // the settings of the store and the API
)

// FileFlag is the flag for the settings file.
const FileFlag = "config"

// RegisterFlags registers the flags of a program and FileFlag, with help and default. Parse them
// before Load.
func RegisterFlags(flags *pflag.FlagSet, program Program) {
	for _, row := range settings(&Config{}, &policy.Document{}) {
		if !row.isFlagOf(program) {
			continue
		}
		flag := flags.VarPF(&flagValue{text: row.standard, kind: row.kind}, row.flag(), "", row.help)
		if row.kind == "bool" {
			flag.NoOptDefVal = "true"
		}
		flag.Annotations = map[string][]string{GroupAnnotation: {row.group}}
		if row.words != nil {
			flag.Annotations[WordsAnnotation] = row.words
		}
	}
	flags.String(FileFlag, "", "YAML `file` with settings, see sendlimit.example.yaml")
}

// flagValue is a flag as written. Load validates it together with the other settings.
type flagValue struct{ text, kind string }

func (v *flagValue) String() string { return v.text }
func (v *flagValue) Type() string   { return v.kind }

func (v *flagValue) Set(s string) error {
	v.text = s
	return nil
}

func readFlags(flags *pflag.FlagSet, rows []*setting) {
	if flags == nil {
		return
	}
	for _, row := range rows {
		if f := flags.Lookup(row.flag()); f != nil && f.Changed {
			row.give(f.Value.String(), "--"+row.flag())
		}
	}
}

func readEnvironment(environ []string, rows []*setting) []*fault.InvalidError {
	variables := make(map[string]string, len(environ))
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}
	for _, row := range rows {
		row.give(variables[row.variable()], row.variable())
	}
	var problems []*fault.InvalidError
	if s := variables[envPrefix+"REDIS_URL"]; s != "" {
		problems = append(problems, fault.Wrong(envPrefix+"REDIS_URL", "unknown variable %s: this one setting is named REDIS_URL", envPrefix+"REDIS_URL"))
	}
	return append(problems, unknownVariables(variables, rows)...)
}

// unknownVariables returns the variables with our prefix that are no setting, since a mistyped one
// would have no effect. It does not show their values, which may be secret.
func unknownVariables(variables map[string]string, rows []*setting) []*fault.InvalidError {
	known := make([]string, len(rows))
	for i, row := range rows {
		known[i] = strings.TrimPrefix(row.variable(), envPrefix)
	}
	var problems []*fault.InvalidError
	for _, variable := range slices.Sorted(maps.Keys(variables)) {
		name, ours := strings.CutPrefix(variable, envPrefix)
		value := variables[variable]
		if !ours || value == "" || slices.Contains(known, name) || name == "REDIS_URL" || foreign(name, value) {
			continue
		}
		advice := "the names are those of sendlimit.example.yaml in capitals"
		if nearest := Nearest(name, known); nearest != "" {
			advice = "did you mean " + envPrefix + nearest + "?"
		}
		problems = append(problems, unknownSetting(name, variable, known, fmt.Sprintf("unknown variable %s in the environment: %s", variable, advice)))
	}
	return problems
}

// foreign reports whether a variable with our prefix is not a setting: it is for tests, or
// Kubernetes sets it in every container because a service is named "sendlimit".
func foreign(name, value string) bool {
	if name == "TRAFFIC" || name == "REQUIRE_REDIS" || strings.HasPrefix(name, "TEST_") {
		return true
	}
	link, _ := regexp.MatchString(`^(.+_)?PORT(_\d+_(TCP|UDP|SCTP))?$`, name)
	if scheme, _, isURL := strings.Cut(value, "://"); link && isURL && slices.Contains([]string{"tcp", "udp", "sctp"}, scheme) {
		return true
	}
	described, _ := regexp.MatchString(`^(.+_)?(SERVICE_(HOST|PORT(_.+)?)|PORT_\d+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR))$`, name)
	return described
}
