package config

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Seeds are policies, tiers and accounts for a store that has none of that name. They come only
// from the file.
type Seeds struct {
	Policies []policy.Policy // beside the one of the section policy
	Tiers    []accounts.Tier
	Accounts []accounts.Seed
}

// Settings that are only in the file.
const (
	calendarsKey  = "policy.calendars"
	categoriesKey = "policy.categories"
	policiesKey   = "policies"
	tiersKey      = "tiers"
	accountsKey   = "accounts"
)

func sectionKeys() []string {
	return []string{calendarsKey, categoriesKey, policiesKey, tiersKey, accountsKey}
}

// accountSeed is an accounts.Seed in the file.
type accountSeed struct {
	Tier     string `json:"tier"`
	Contact  string `json:"contact"`
	TimeZone string `json:"time_zone"`
	ReportAt string `json:"report_at"`
	Keys     []struct {
		SHA256 string   `json:"key_sha256"`
		Scopes []string `json:"scopes"`
	} `json:"keys"`
}

// nobody is a valid name, used to validate other fields.
const nobody = "nobody"

// section reads one of sectionKeys.
func (r *fileReader) section(key string, into any) {
	if entry := r.sections[key]; entry != nil {
		r.decode(key, entry.Value, entry.Key.GetToken(), reflect.ValueOf(into).Elem())
	}
}

// named reads a mapping of names, and calls each for every name in the order of the file.
func named[T any](r *fileReader, key string, each func(name, path string, value T)) {
	var found map[string]T
	r.section(key, &found)
	offset := func(name string) int { return r.at[key+"."+name].Position.Offset }
	for _, name := range slices.SortedFunc(maps.Keys(found), func(a, b string) int { return cmp.Compare(offset(a), offset(b)) }) {
		each(name, key+"."+name+".", found[name])
	}
}

// policySection reads the calendars and categories of the section policy.
func (r *fileReader) policySection(into *policy.Document) {
	r.section(calendarsKey, &into.Calendars)
	r.section(categoriesKey, &into.Categories)
	_, err := completed(policy.Document{Calendars: into.Calendars, Categories: into.Categories}).Policy()
	r.judge("policy.", err)
}

func (r *fileReader) policies() (found []policy.Policy) {
	named(r, policiesKey, func(name, path string, document policy.Document) {
		whole := completed(policy.Document{})
		whole.Name = name
		_, err := whole.Policy()
		r.judgeName(policiesKey, name, err)
		if name == policy.DefaultName {
			r.judgeName(policiesKey, name, takes("another name: what everybody else goes by is under policy"))
		}
		document.Name = nobody
		p, err := document.Policy()
		r.judge(path, err)
		p.Name = name
		found = append(found, p)
	})
	return found
}

func (r *fileReader) tiers() (found []accounts.Tier) {
	named(r, tiersKey, func(name, path string, read accounts.Tier) {
		r.judgeName(tiersKey, name, accounts.Tier{Name: name}.Validate())
		read.Name = nobody
		r.judge(path, read.Validate())
		read.Name = name
		found = append(found, read)
	})
	return found
}

func (r *fileReader) accounts() (found []accounts.Seed) {
	named(r, accountsKey, func(name, path string, read accountSeed) {
		r.judgeName(accountsKey, name, accounts.Account{Name: name}.Validate())
		seed := accounts.Seed{Account: accounts.Account{
			Name: nobody, Tier: read.Tier, Contact: read.Contact, TimeZone: read.TimeZone, ReportAt: read.ReportAt,
		}}
		r.judge(path, seed.Account.Validate())
		for i, key := range read.Keys {
			path := path + "keys." + strconv.Itoa(i+1) + "."
			scopes, err := accounts.ParseScopes(key.Scopes...)
			if err != nil {
				r.judge(path, err)
				scopes, _ = accounts.ParseScopes()
			}
			seed.Keys = append(seed.Keys, accounts.KeySeed{SHA256: strings.ToLower(key.SHA256), Scopes: scopes})
			r.judge(path, accounts.Seed{Account: accounts.Account{Name: nobody}, Keys: seed.Keys[i:]}.Validate())
		}
		seed.Name = name
		found = append(found, seed)
	})
	return found
}

// judgeName notes an invalid name in a section.
func (r *fileReader) judgeName(key, name string, err error) {
	if problem := invalid(err); problem != nil {
		r.judge("", &fault.InvalidError{Field: key, Value: name, Want: problem.Want})
	}
}

// tiersOfAccounts rejects accounts whose tier is not in the file. A file without tiers may name
// any, since the store may have them.
func (r *fileReader) tiersOfAccounts(seeds Seeds) {
	for _, account := range seeds.Accounts {
		known := slices.ContainsFunc(seeds.Tiers, func(t accounts.Tier) bool { return t.Name == account.Tier })
		if !known && len(seeds.Tiers) > 0 && accounts.ValidName(account.Tier) {
			r.judge(accountsKey+"."+account.Name+".", &fault.InvalidError{Field: "tier", Value: account.Tier, Want: "the name of a tier under tiers"})
		}
	}
}
