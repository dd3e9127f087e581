package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// Seeds are the tiers and accounts that the store gets where it has none of
// their names. They are only in the file.
type Seeds struct {
	Tiers    []sendlimit.Tier
	Accounts []sendlimit.AccountSeed
}

// writtenTier is a tier as the file has it.
type writtenTier struct {
	RequestsPerMinute int64 `yaml:"requests_per_minute"`
	MessagesPerHour   int64 `yaml:"messages_per_hour"`
	MessagesPerDay    int64 `yaml:"messages_per_day"`
	AlertAt           []int `yaml:"alert_at"`
}

// writtenAccount is an account as the file has it.
type writtenAccount struct {
	Tier     string       `yaml:"tier"`
	Contact  string       `yaml:"contact"`
	TimeZone string       `yaml:"time_zone"`
	ReportAt string       `yaml:"report_at"`
	Keys     []writtenKey `yaml:"keys"`
}

type writtenKey struct {
	SHA256 string   `yaml:"key_sha256"`
	Scopes []string `yaml:"scopes"`
}

// Names of the settings that are only in the file.
const (
	tiersKey    = "tiers"
	accountsKey = "accounts"
)

// seedKeys are the settings that only the file has.
func seedKeys() []string { return []string{tiersKey, accountsKey} }

// seeds reads the tiers or the accounts of a file.
func (r *fileReader) seed(key string, node ast.Node, source string) {
	entries, ok := node.(*ast.MappingNode)
	if _, null := node.(*ast.NullNode); null {
		return
	}
	if !ok {
		r.reject(key, kindOf(node), "a mapping of names to "+key, source)
		return
	}
	for _, entry := range entries.Values {
		token := entry.Key.GetToken()
		source := fmt.Sprintf("%s, line %d", r.name, token.Position.Line)
		var problem *sendlimit.InvalidError
		if key == tiersKey {
			problem = r.tier(token.Value, entry.Value)
		} else {
			problem = r.account(token.Value, entry.Value)
		}
		if problem != nil {
			r.reject(key+"."+token.Value+"."+problem.Field, problem.Value, problem.Want, source)
		}
	}
}

func (r *fileReader) tier(name string, node ast.Node) *sendlimit.InvalidError {
	var w writtenTier
	if problem := r.decode(node, &w); problem != nil {
		return problem
	}
	tier := sendlimit.Tier{
		Name: name, RequestsPerMinute: w.RequestsPerMinute,
		MessagesPerHour: w.MessagesPerHour, MessagesPerDay: w.MessagesPerDay, AlertAt: w.AlertAt,
	}
	if err := tier.Validate(); err != nil {
		return invalid(err)
	}
	r.seeds.Tiers = append(r.seeds.Tiers, tier)
	return nil
}

func (r *fileReader) account(name string, node ast.Node) *sendlimit.InvalidError {
	var w writtenAccount
	if problem := r.decode(node, &w); problem != nil {
		return problem
	}
	seed := sendlimit.AccountSeed{Account: sendlimit.Account{
		Name: name, Tier: w.Tier, Contact: w.Contact, TimeZone: w.TimeZone, ReportAt: w.ReportAt,
	}}
	for _, key := range w.Keys {
		scopes, err := sendlimit.ParseScopes(key.Scopes...)
		if err != nil {
			return invalid(err)
		}
		seed.Keys = append(seed.Keys, sendlimit.KeySeed{SHA256: strings.ToLower(key.SHA256), Scopes: scopes})
	}
	if err := seed.Validate(); err != nil {
		return invalid(err)
	}
	r.seeds.Accounts = append(r.seeds.Accounts, seed)
	return nil
}

// decode reads a mapping with the fields of what into points to, and no others.
func (r *fileReader) decode(node ast.Node, into any) *sendlimit.InvalidError {
	if _, null := node.(*ast.NullNode); null {
		return nil
	}
	if err := yaml.NodeToValue(node, into, yaml.Strict()); err != nil {
		return &sendlimit.InvalidError{Field: "*", Want: "what is described in the example file: " + seedProblem(err)}
	}
	return nil
}

// seedProblem says what is wrong with a mapping, and where; not what it holds.
func seedProblem(err error) string {
	return syntaxProblem(err, []*setting{
		{key: "requests_per_minute.messages_per_hour.messages_per_day.alert_at"},
		{key: "tier.contact.time_zone.report_at.keys.key_sha256.scopes"},
	})
}

// tiersOfAccounts refuses an account whose tier the file has not, where the file
// has tiers at all: without any, they may be in the store.
func tiersOfAccounts(c Config) *sendlimit.InvalidError {
	if len(c.Seeds.Tiers) == 0 {
		return nil
	}
	for _, account := range c.Seeds.Accounts {
		known := slices.ContainsFunc(c.Seeds.Tiers, func(t sendlimit.Tier) bool { return t.Name == account.Tier })
		if account.Tier != "" && !known {
			return &sendlimit.InvalidError{
				Field: "accounts." + account.Name + ".tier", Value: account.Tier, Want: "the name of a tier under tiers",
			}
		}
	}
	return nil
}
