package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Seeds are policies, tiers and accounts that the store gets if it has none of that name.
// They are only in the file.
type Seeds struct {
	Policies []policy.Policy // beside the one of the section policy
	Tiers    []accounts.Tier
	Accounts []accounts.Seed
}

// Names of the settings that are only in the file.
const (
	calendarsKey  = "policy.calendars"
	categoriesKey = "policy.categories"
	policiesKey   = "policies"
	tiersKey      = "tiers"
	accountsKey   = "accounts"
)

// seedKeys returns the names of the settings that are only in the file.
func seedKeys() []string {
	return []string{calendarsKey, categoriesKey, policiesKey, tiersKey, accountsKey}
}

// seed reads a setting that is only in the file.
func (r *fileReader) seed(key string, node ast.Node, source string) {
	if _, null := node.(*ast.NullNode); null {
		return
	}
	if key == calendarsKey || key == categoriesKey {
		r.ofPolicy(key, node, source)
		return
	}
	entries, ok := node.(*ast.MappingNode)
	if !ok {
		r.reject(key, kindOf(node), "a mapping of names to "+key, source)
		return
	}
	for _, entry := range entries.Values {
		name := entry.Key.GetToken()
		switch at := r.source(name); key {
		case policiesKey:
			r.policyNamed(name.Value, entry.Value, at)
		case tiersKey:
			r.tier(name.Value, entry.Value, at)
		default:
			r.account(name.Value, entry.Value, at)
		}
	}
}

// source returns file and line of a name.
func (r *fileReader) source(name *token.Token) string {
	return fmt.Sprintf("%s, line %d", r.name, name.Position.Line)
}

// nobody is a valid name, to judge other fields with.
const nobody = "nobody"

func (r *fileReader) tier(name string, node ast.Node, source string) {
	tier := accounts.Tier{Name: name}
	path := tiersKey + "." + name
	r.fields(path, node, source, []seedField{
		{"requests_per_minute", &tier.RequestsPerMinute, "a whole number"},
		{"requests_per_day", &tier.RequestsPerDay, "a whole number"},
		{"lines_per_minute", &tier.LinesPerMinute, "a whole number"},
		{"messages_per_hour", &tier.MessagesPerHour, "a whole number"},
		{"messages_per_day", &tier.MessagesPerDay, "a whole number"},
		{"devices", &tier.Devices, "a whole number"},
		{"alert_at", &tier.AlertAt, "a list of percents such as [80, 100]"},
	})
	r.judge(tiersKey, accounts.Tier{Name: name}.Validate(), source)
	for _, alone := range []accounts.Tier{
		{Name: nobody, RequestsPerMinute: tier.RequestsPerMinute},
		{Name: nobody, RequestsPerDay: tier.RequestsPerDay},
		{Name: nobody, LinesPerMinute: tier.LinesPerMinute},
		{Name: nobody, MessagesPerHour: tier.MessagesPerHour},
		{Name: nobody, MessagesPerDay: tier.MessagesPerDay},
		{Name: nobody, Devices: tier.Devices},
		{Name: nobody, AlertAt: tier.AlertAt},
	} {
		r.judge(path+".", alone.Validate(), source)
	}
	r.config.Seeds.Tiers = append(r.config.Seeds.Tiers, tier)
}

func (r *fileReader) account(name string, node ast.Node, source string) {
	account := accounts.Account{Name: name}
	path := accountsKey + "." + name
	var keys ast.Node
	r.fields(path, node, source, []seedField{
		{"tier", &account.Tier, plainValue},
		{"contact", &account.Contact, plainValue},
		{"time_zone", &account.TimeZone, plainValue},
		{"report_at", &account.ReportAt, plainValue},
		{"keys", &keys, ""},
	})
	r.judge(accountsKey, accounts.Account{Name: name}.Validate(), source)
	if !r.judge(path+".", accounts.Account{Name: nobody, Tier: account.Tier}.Validate(), source) {
		account.Tier = "" // and is not looked for under tiers
	}
	for _, alone := range []accounts.Account{
		{Name: nobody, Contact: account.Contact},
		{Name: nobody, TimeZone: account.TimeZone},
		{Name: nobody, ReportAt: account.ReportAt},
	} {
		r.judge(path+".", alone.Validate(), source)
	}
	r.config.Seeds.Accounts = append(r.config.Seeds.Accounts, accounts.Seed{
		Account: account, Keys: r.keys(path+".keys", keys, source),
	})
}

// keys reads the keys of an account; nil for none.
func (r *fileReader) keys(path string, node ast.Node, source string) []accounts.KeySeed {
	if node == nil {
		return nil
	}
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		r.reject(path, kindOf(node), "a list of key_sha256 with scopes", source)
		return nil
	}
	var keys []accounts.KeySeed
	for _, element := range list.Values {
		source := r.source(element.GetToken())
		var key accounts.KeySeed
		var words []string
		r.fields(path, element, source, []seedField{
			{"key_sha256", &key.SHA256, plainValue},
			{"scopes", &words, "a list of submit, read, admin and content"},
		})
		key.SHA256 = strings.ToLower(key.SHA256)
		scopes, err := accounts.ParseScopes(words...)
		if !r.judge(path+".", err, source) {
			scopes, _ = accounts.ParseScopes()
		}
		key.Scopes = scopes
		alone := accounts.Seed{Account: accounts.Account{Name: nobody}, Keys: []accounts.KeySeed{key}}
		r.judge(path+".", alone.Validate(), source)
		keys = append(keys, key)
	}
	return keys
}

// judge rejects a field if err is not nil, and reports whether it is allowed. If the path
// ends in a dot, the field of the error is appended.
func (r *fileReader) judge(path string, err error, source string) bool {
	if err == nil {
		return true
	}
	problem := invalid(err)
	if strings.HasSuffix(path, ".") {
		path += problem.Field
	}
	problem.Field = path
	r.add(problem, source)
	return false
}

// seedField is a field of a tier, an account or a key.
type seedField struct {
	name string
	into any    // *string, *ast.Node, or what the YAML library can fill
	want string // what it takes
}

const plainValue = "a plain value"

// fields reads a mapping of known fields, and rejects all others.
func (r *fileReader) fields(path string, node ast.Node, source string, fields []seedField) {
	known := make([]entry, len(fields))
	for i, field := range fields {
		known[i] = entry{name: field.name, read: func(node ast.Node, source string) {
			if !field.read(node) {
				// Do not show the value: it may be a key in the wrong place.
				r.reject(path+"."+field.name, kindOf(node), field.want, source)
			}
		}}
	}
	r.entries(path+".", node, source, known)
}

func (f seedField) read(node ast.Node) bool {
	switch into := f.into.(type) {
	case *ast.Node:
		*into = node
		return true
	case *string:
		text, ok := scalar(node)
		*into = text
		return ok
	default:
		return yaml.NodeToValue(node, into) == nil
	}
}

// entry is a known name of a mapping, with the function that reads its value.
type entry struct {
	name string
	read func(node ast.Node, source string)
}

// entries reads a mapping of known names, and rejects all others. It ignores a name without
// a value.
func (r *fileReader) entries(path string, node ast.Node, source string, known []entry) {
	names := make([]string, len(known))
	for i, e := range known {
		names[i] = e.name
	}
	mapping, ok := node.(*ast.MappingNode)
	if _, null := node.(*ast.NullNode); null {
		return
	}
	if !ok {
		r.reject(strings.TrimSuffix(path, "."), kindOf(node), "a mapping of "+strings.Join(names, ", "), source)
		return
	}
	for _, value := range mapping.Values {
		name := value.Key.GetToken()
		at := r.source(name)
		i := slices.Index(names, name.Value)
		if i < 0 {
			r.add(unknownSetting(path+name.Value, names), at)
			continue
		}
		if _, null := value.Value.(*ast.NullNode); !null {
			known[i].read(value.Value, at)
		}
	}
}

// tiersOfAccounts rejects accounts whose tier is not in the file. If the file has no tiers
// it accepts all, since the store may have them.
func (r *fileReader) tiersOfAccounts() {
	if len(r.config.Seeds.Tiers) == 0 {
		return
	}
	for _, account := range r.config.Seeds.Accounts {
		known := slices.ContainsFunc(r.config.Seeds.Tiers, func(t accounts.Tier) bool { return t.Name == account.Tier })
		if account.Tier != "" && !known {
			r.reject(accountsKey+"."+account.Name+".tier", account.Tier, "the name of a tier under tiers", r.name)
		}
	}
}
