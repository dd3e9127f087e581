package keyspace

// Policy returns the key of a policy.
func (k Keys) Policy(name string) string { return k.prefix + ":policy:" + name }

// PolicyVersions returns the key of the versions of a policy. It is in the policy's slot.
func (k Keys) PolicyVersions(name string) string { return k.ofPolicy(name) + "versions" }

// PolicyDeletion returns the key of the mark of a policy that is being deleted, or was.
// It is in the policy's slot.
func (k Keys) PolicyDeletion(name string) string { return k.ofPolicy(name) + "deletion" }

func (k Keys) ofPolicy(name string) string { return k.prefix + ":{" + k.Policy(name) + "}:" }

// Policies returns the key of the names of the policies.
func (k Keys) Policies() string { return k.prefix + ":policies" }

// PolicyChanges returns the key of the numbers of the last changes of policies.
func (k Keys) PolicyChanges() string { return k.prefix + ":{policies}:changes" }

// PolicyChanging returns the key of the policies that are being changed. It shares a
// hash tag with PolicyChanges.
func (k Keys) PolicyChanging() string { return k.prefix + ":{policies}:changing" }

// PolicyWindows returns the key of the windows that policies had before they were changed. It
// shares a hash tag with PolicyChanges.
func (k Keys) PolicyWindows() string { return k.prefix + ":{policies}:windows" }

// PolicyClaims returns the key of the changes that are about to give users of a
// partition a policy.
func (k Keys) PolicyClaims(partition int, policy string) string {
	return k.Partitions[partition] + "claims:" + policy
}

// Refit returns the key of how far a refit of a policy has come.
func (k Keys) Refit(policy string) string { return k.prefix + ":refit:" + policy }
