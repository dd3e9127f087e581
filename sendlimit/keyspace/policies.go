package keyspace

// Policies returns the key of all policies. The other keys of policies, except those of claims and
// refits, share its slot: a change is one script.
func (k Keys) Policies() string { return k.prefix + ":{policies}:stored" }

// PolicyVersions returns the key of the versions of a policy.
func (k Keys) PolicyVersions(name string) string { return k.prefix + ":{policies}:versions:" + name }

// PolicyDeletion returns the key of the mark of a policy that is being deleted, or was.
func (k Keys) PolicyDeletion(name string) string { return k.prefix + ":{policies}:deletion:" + name }

// PolicyChanges returns the key of the numbers of the last changes of policies.
func (k Keys) PolicyChanges() string { return k.prefix + ":{policies}:changes" }

// PolicyWindows returns the key of the present and former windows of policies.
func (k Keys) PolicyWindows() string { return k.prefix + ":{policies}:windows" }

// PolicyClaims returns the key of the changes that are about to give users of a partition a policy.
func (k Keys) PolicyClaims(partition int, policy string) string {
	return k.Partitions[partition] + "claims:" + policy
}
