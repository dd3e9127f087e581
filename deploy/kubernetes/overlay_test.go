package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	scaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// overlay is what an overlay builds, by kind.
type overlay struct {
	namespace   string
	deployments []*apps.Deployment
	sets        []*apps.StatefulSet
	services    []*core.Service
	configMaps  map[string]*core.ConfigMap
	secrets     map[string]*core.Secret
	budgets     []*policy.PodDisruptionBudget
	scalers     []*scaling.HorizontalPodAutoscaler
	policies    []*networking.NetworkPolicy
	monitors    []*monitoring.ServiceMonitor
}

// build builds an overlay as "kubectl apply -k" does, and reads every object strictly as the
// API server's types: an unknown field fails.
func build(t *testing.T, name string) *overlay {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "overlays/"+name)
	require.NoError(t, err)
	o := &overlay{configMaps: map[string]*core.ConfigMap{}, secrets: map[string]*core.Secret{}}
	for _, r := range built.Resources() {
		text, err := r.MarshalJSON()
		require.NoError(t, err)
		if r.GetKind() != "Namespace" {
			require.NotEmpty(t, r.GetNamespace(), r.GetName())
			o.namespace = r.GetNamespace()
		}
		switch id := r.GetGvk().ApiVersion() + " " + r.GetKind(); id {
		case "apps/v1 Deployment":
			o.deployments = append(o.deployments, strictly[apps.Deployment](t, text))
		case "apps/v1 StatefulSet":
			o.sets = append(o.sets, strictly[apps.StatefulSet](t, text))
		case "v1 Service":
			o.services = append(o.services, strictly[core.Service](t, text))
		case "v1 ConfigMap":
			o.configMaps[r.GetName()] = strictly[core.ConfigMap](t, text)
		case "v1 Secret":
			o.secrets[r.GetName()] = strictly[core.Secret](t, text)
		case "v1 ServiceAccount":
			require.False(t, *strictly[core.ServiceAccount](t, text).AutomountServiceAccountToken)
		case "v1 Namespace":
			strictly[core.Namespace](t, text)
		case "policy/v1 PodDisruptionBudget":
			o.budgets = append(o.budgets, strictly[policy.PodDisruptionBudget](t, text))
		case "autoscaling/v2 HorizontalPodAutoscaler":
			o.scalers = append(o.scalers, strictly[scaling.HorizontalPodAutoscaler](t, text))
		case "networking.k8s.io/v1 NetworkPolicy":
			o.policies = append(o.policies, strictly[networking.NetworkPolicy](t, text))
		case "monitoring.coreos.com/v1 ServiceMonitor":
			o.monitors = append(o.monitors, strictly[monitoring.ServiceMonitor](t, text))
		default:
			require.Fail(t, "no type to judge it by", id)
		}
	}
	return o
}

func strictly[T any](t *testing.T, text []byte) *T {
	t.Helper()
	var value T
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&value), string(text))
	return &value
}

// pods returns the pods' templates, by the name of what makes them.
func (o *overlay) pods() map[string]core.PodTemplateSpec {
	pods := map[string]core.PodTemplateSpec{}
	for _, d := range o.deployments {
		pods[d.Name] = d.Spec.Template
	}
	for _, s := range o.sets {
		pods[s.Name] = s.Spec.Template
	}
	return pods
}

// environ returns what a container's environment has, without what secrets hold, and the names
// that come from secrets.
func (o *overlay) environ(t *testing.T, c core.Container) (values map[string]string, secret []string) {
	t.Helper()
	values = map[string]string{}
	for _, from := range c.EnvFrom {
		require.NotNil(t, from.ConfigMapRef)
		require.Contains(t, o.configMaps, from.ConfigMapRef.Name)
		maps.Copy(values, o.configMaps[from.ConfigMapRef.Name].Data)
	}
	for _, v := range c.Env {
		if v.ValueFrom == nil {
			values[v.Name] = v.Value
			continue
		}
		require.NotNil(t, v.ValueFrom.SecretKeyRef, v.Name)
		secret = append(secret, v.Name)
	}
	return values, secret
}
