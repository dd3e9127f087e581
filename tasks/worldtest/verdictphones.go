package worldtest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// judgePhones requires that a phone has one user, the last one that registered it, and gets no
// messages for others. If a registration has no answer, it may be anybody's.
func (v *verdict) judgePhones(tb testing.TB) {
	tb.Helper()
	known := devices.New(v.Client, keyspace.KeysUnder(""), devices.Options{})
	for _, phone := range Phones() {
		of := slices.DeleteFunc(slices.Clone(v.phones), func(r Registration) bool { return r.Phone != phone })
		var owners []string
		for _, u := range v.Plan.Users {
			list, err := known.List(tb.Context(), u.Name)
			require.NoError(tb, err)
			if slices.ContainsFunc(list, func(d devices.Device) bool { return d.ID == phone }) {
				owners = append(owners, u.Name)
			}
		}
		if slices.ContainsFunc(of, func(r Registration) bool { return r.Err != nil }) {
			continue
		}
		last := slices.DeleteFunc(slices.Clone(of), func(r Registration) bool { return isReplaced(r, of) })
		isLast := func(user string) bool {
			return slices.ContainsFunc(last, func(r Registration) bool { return r.User == user })
		}
		isErased := slices.ContainsFunc(last, func(r Registration) bool { return len(v.erased[r.User]) > 0 })
		if len(owners) > 1 || len(owners) == 0 && len(of) > 0 && !isErased || len(owners) == 1 && !isLast(owners[0]) {
			v.fault("phones: %s is of %v, and was registered so: %+v", phone, owners, of)
		}
		for _, a := range v.Arrivals {
			if a.Device == phone && !v.mayHave(a, of) {
				v.fault("phones: %s/%s arrived at %s at %s, which was registered so: %+v", a.User, a.ID, phone, a.At, of)
			}
		}
	}
}

// isReplaced reports whether a registration began and was answered after another one.
func isReplaced(r Registration, all []Registration) bool {
	return slices.ContainsFunc(all, func(o Registration) bool { return o.Began.After(r.Ended) })
}

// mayHave reports whether the user of an arrival had the phone when the message was claimed.
func (v *verdict) mayHave(a Arrival, of []Registration) bool {
	claimed := a.At.Add(-v.Lease)
	before := slices.DeleteFunc(slices.Clone(of), func(r Registration) bool { return r.Ended.After(claimed) })
	return slices.ContainsFunc(of, func(r Registration) bool {
		return r.User == a.User && r.Began.Before(a.At) && !isReplaced(r, before)
	})
}
