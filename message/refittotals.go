package message

// RefitTotals count how scheduled messages fit a policy. The zero value is nobody.
type RefitTotals struct {
	Users         int            `json:"users"`        // under the policy who have messages still to be sent
	Reservations  int            `json:"reservations"` // of theirs that were judged
	MisfitUsers   int            `json:"misfit_users"` // of the users, who have misfits
	Misfits       int            `json:"misfits"`
	MisfitsByRule map[string]int `json:"misfits_by_rule"` // by what they break, as Misfit.Breaks names it
	// LimitUsers counts users with a limit of their own that replaces no rule of the
	// policy, and applies beside its rules.
	LimitUsers int `json:"limit_users,omitempty"`
	// UnclearUsers counts users who are under no policy that is known, and were passed over.
	UnclearUsers int `json:"unclear_users,omitempty"`
}

// Add adds others to the totals.
func (t *RefitTotals) Add(others RefitTotals) {
	t.Users += others.Users
	t.Reservations += others.Reservations
	t.MisfitUsers += others.MisfitUsers
	t.Misfits += others.Misfits
	t.LimitUsers += others.LimitUsers
	t.UnclearUsers += others.UnclearUsers
	for name, n := range others.MisfitsByRule {
		t.Count(name, n)
	}
}

// Count counts misfits by what they break.
func (t *RefitTotals) Count(breaks string, n int) {
	if t.MisfitsByRule == nil {
		t.MisfitsByRule = make(map[string]int)
	}
	t.MisfitsByRule[breaks] += n
}
