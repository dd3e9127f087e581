package api

// routes are all operations, in the order the documentation has them.
func (s *server) routes() []route {
	return []route{
		s.submitRoute(),
		s.dryRunRoute(),
		s.batchRoute(),
		s.statusRoute(),
		s.moveRoute(),
		s.cancelRoute(),
		s.listRoute(),
		s.usageRoute(),
		s.nextFreeRoute(),
		s.listDeadLettersRoute(),
		s.showDeadLetterRoute(),
		s.purgeDeadLetterRoute(),
		s.retryDeadLetterRoute(),
		s.listAccountsRoute(),
		s.createAccountRoute(),
		s.showAccountRoute(),
		s.changeAccountRoute(),
		s.addKeyRoute(),
		s.removeKeyRoute(),
		s.listTiersRoute(),
		s.showTierRoute(),
		s.setTierRoute(),
		s.listPoliciesRoute(),
		s.showPolicyRoute(),
		s.applyPolicyRoute(),
		s.previewPolicyRoute(),
		s.refitPolicyRoute(),
		s.showSettingsRoute(),
		s.putSettingsRoute(),
		s.changeSettingsRoute(),
		s.clearSettingsRoute(),
		s.statsRoute(),
	}
}
