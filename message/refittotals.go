package message

// RefitTotals counts how scheduled messages fit a policy.
type RefitTotals struct {
	Users         int            `json:"users" doc:"Users of the policy with scheduled messages."`
	Reservations  int            `json:"reservations" doc:"Their messages that were checked."`
	MisfitUsers   int            `json:"misfit_users" doc:"Users with messages that do not fit."`
	Misfits       int            `json:"misfits" doc:"Messages that do not fit."`
	MisfitsByRule map[string]int `json:"misfits_by_rule" doc:"Messages that do not fit, by the rule that they would break."`
	LimitUsers    int            `json:"limit_users,omitempty" doc:"Users whose own limit replaces no rule of the policy, and applies beside them."`
	UnclearUsers  int            `json:"unclear_users,omitempty" doc:"Users that were skipped, since their settings name a policy that does not exist."`
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

// Count counts misfits by the rule that they break.
func (t *RefitTotals) Count(breaks string, n int) {
	if t.MisfitsByRule == nil {
		t.MisfitsByRule = make(map[string]int)
	}
	t.MisfitsByRule[breaks] += n
}
