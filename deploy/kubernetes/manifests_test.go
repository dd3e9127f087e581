package kubernetes_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sendlimit/sendlimiter/config"
)

const product = "ghcr.io/sendlimit/sendlimiter"

// each runs a test on every overlay.
func each(t *testing.T, test func(*testing.T, *overlay)) {
	t.Helper()
	for _, name := range []string{"try", "production"} {
		t.Run(name, func(t *testing.T) { test(t, build(t, name)) })
	}
}

func selects(selector, found map[string]string) bool {
	return len(selector) > 0 && labels.SelectorFromSet(selector).Matches(labels.Set(found))
}

func TestSelectorsSelectTheirPods(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *overlay) {
		t.Helper()
		for _, d := range o.deployments {
			require.True(t, selects(d.Spec.Selector.MatchLabels, d.Spec.Template.Labels), d.Name)
			for _, other := range o.deployments {
				require.Equal(t, d.Name == other.Name, selects(d.Spec.Selector.MatchLabels, other.Spec.Template.Labels), "%s of %s", other.Name, d.Name)
			}
		}
		for _, s := range o.sets {
			require.True(t, selects(s.Spec.Selector.MatchLabels, s.Spec.Template.Labels), s.Name)
		}
		for _, s := range o.services {
			chosen := 0
			for name, pod := range o.pods() {
				if !selects(s.Spec.Selector, pod.Labels) {
					continue
				}
				chosen++
				for _, p := range s.Spec.Ports {
					require.True(t, hasPort(pod, p.TargetPort.StrVal), "port %s of %s at %s", p.TargetPort.StrVal, s.Name, name)
				}
			}
			require.Positive(t, chosen, s.Name)
		}
		for _, p := range o.policies {
			for name, pod := range o.pods() {
				require.Equal(t, image(pod) == product == (p.Name == "sendlimit"), selects(p.Spec.PodSelector.MatchLabels, pod.Labels), name)
			}
		}
		for _, m := range o.monitors {
			index := slices.IndexFunc(o.services, func(s *core.Service) bool { return selects(m.Spec.Selector.MatchLabels, s.Labels) })
			require.GreaterOrEqual(t, index, 0, m.Name)
			of := o.services[index]
			require.Equal(t, m.Spec.Endpoints[0].Port, of.Spec.Ports[0].Name)
			require.Equal(t, "sendlimit", of.Labels[m.Spec.JobLabel], "the alerts select this job")
			for name, pod := range o.pods() {
				require.Equal(t, image(pod) == product, selects(of.Spec.Selector, pod.Labels), name)
			}
		}
	})
}

func hasPort(pod core.PodTemplateSpec, name string) bool {
	return slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p core.ContainerPort) bool { return p.Name == name })
}

func image(pod core.PodTemplateSpec) string {
	name, _, _ := strings.Cut(pod.Spec.Containers[0].Image, ":")
	return name
}

func TestEveryKindOfPodHasABudgetAndAScalerItsDeployment(t *testing.T) {
	t.Parallel()
	o := build(t, "production")
	require.Len(t, o.deployments, 3)
	scaled := map[string]int32{}
	for _, s := range o.scalers {
		scaled[s.Spec.ScaleTargetRef.Name] = *s.Spec.MinReplicas
	}
	for _, d := range o.deployments {
		least := scaled[d.Name]
		if d.Spec.Replicas != nil {
			require.Zero(t, least, "%s has replicas beside a scaler", d.Name)
			least = *d.Spec.Replicas
		}
		require.GreaterOrEqual(t, least, int32(2), d.Name)
		covered := 0
		for _, b := range o.budgets {
			if selects(b.Spec.Selector.MatchLabels, d.Spec.Template.Labels) {
				covered++
				require.Less(t, b.Spec.MinAvailable.IntVal, least, "a node could never be drained")
			}
		}
		require.Equal(t, 1, covered, d.Name)
		delete(scaled, d.Name)
	}
	require.Empty(t, scaled, "scalers without a deployment")
}

func TestPodsAreConfined(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *overlay) {
		t.Helper()
		for name, pod := range o.pods() {
			require.True(t, *pod.Spec.SecurityContext.RunAsNonRoot, name)
			require.Positive(t, *pod.Spec.SecurityContext.RunAsUser, name)
			require.Equal(t, core.SeccompProfileTypeRuntimeDefault, pod.Spec.SecurityContext.SeccompProfile.Type, name)
			require.False(t, *pod.Spec.AutomountServiceAccountToken, name)
			require.False(t, *pod.Spec.EnableServiceLinks, name)
			for _, c := range pod.Spec.Containers {
				require.Regexp(t, `:v?\d+\.\d+\.\d+`, c.Image, "%s: what runs does not change by itself", name)
				require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, name)
				require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, name)
				require.Equal(t, []core.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop, name)
				require.NotEmpty(t, c.Resources.Requests.Cpu().String(), name)
				require.False(t, c.Resources.Requests.Memory().IsZero(), name)
				require.False(t, c.Resources.Limits.Memory().IsZero(), name)
			}
		}
	})
}

// The program accepts each pod's settings, and its probes and ports fit them.
func TestSettingsArePossible(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *overlay) {
		t.Helper()
		for name, pod := range o.pods() {
			if image(pod) != product {
				continue
			}
			c := pod.Spec.Containers[0]
			values, secret := o.environ(t, c)
			environ := []string{}
			for variable, value := range values {
				environ = append(environ, variable+"="+value)
			}
			for _, variable := range secret {
				environ = append(environ, variable+"="+map[string]string{
					"REDIS_URL": "rediss://redis.example.com:6379", "SENDLIMIT_PUSH_URL": "https://push.example.com",
					"SENDLIMIT_PUSH_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
				}[variable])
			}
			flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
			config.RegisterFlags(flags, config.Worker)
			require.NoError(t, flags.Parse(c.Args), name)
			require.NoError(t, flags.Set(config.FileFlag, ""), "the file is judged where it is")
			settings, err := config.Load(flags, environ, "", config.HasSomethingToDo, config.NeedsPushTarget)
			require.NoError(t, err, name)

			require.Equal(t, settings.Listen != "", hasPort(pod, "http"), name)
			require.Equal(t, settings.Listen != "", pod.Labels["sendlimit/api"] == "true", "%s behind the Service of the API", name)
			for _, p := range c.Ports {
				want := map[string]string{"http": ":8080", "admin": ":8081"}[p.Name]
				got := map[string]string{"http": settings.Listen, "admin": values["SENDLIMIT_ADMIN_LISTEN"]}[p.Name]
				require.Equal(t, want, got, "port %s of %s", p.Name, name)
				require.True(t, strings.HasSuffix(want, ":"+strconv.Itoa(int(p.ContainerPort))))
			}
			grace := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
			require.Greater(t, grace, settings.DrainDelay+settings.ShutdownTimeout+2*time.Second, name)
			if settings.Listen != "" {
				unready := time.Duration(c.ReadinessProbe.PeriodSeconds) * time.Second
				require.GreaterOrEqual(t, settings.DrainDelay, unready, "%s: load balancers that ask /readyz see it in time", name)
			}
			for path, probe := range map[string]*core.Probe{"/livez": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
				require.Equal(t, path, probe.HTTPGet.Path, "%s: a Redis that is away restarts nothing", name)
				require.Equal(t, "admin", probe.HTTPGet.Port.StrVal, name)
			}
			require.Equal(t, []string{"/usr/bin/sendlimit-worker"}, c.Command)
		}
	})
}

// The three kinds together do everything once.
func TestProductionDividesTheWork(t *testing.T) {
	t.Parallel()
	o := build(t, "production")
	got := map[string]string{}
	for name, pod := range o.pods() {
		values, secret := o.environ(t, pod.Spec.Containers[0])
		got[name] = strings.Join([]string{values["SENDLIMIT_DELIVER"], values["SENDLIMIT_RELAY"], values["SENDLIMIT_LISTEN"]}, " ")
		require.Contains(t, secret, "REDIS_URL", "it may have a password")
		require.Equal(t, name == "sendlimit-worker", slices.Contains(secret, "SENDLIMIT_PUSH_SECRET"), "only who delivers needs it")
	}
	require.Equal(t, map[string]string{
		"sendlimit-worker": " false off", "sendlimit-api": "false  :8080", "sendlimit-relay": "false true off",
	}, got)
	require.Empty(t, o.secrets, "secrets are made by who installs it")
	require.NotEqual(t, "default", o.namespace)
}

// A server that a caller names is never an internal one, whatever the program does.
func TestPodsReachNoInternalServers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *overlay) {
		t.Helper()
		at := slices.IndexFunc(o.policies, func(p *networking.NetworkPolicy) bool { return p.Name == "sendlimit" })
		require.Contains(t, o.policies[at].Spec.PolicyTypes, networking.PolicyTypeEgress)
		for _, rule := range o.policies[at].Spec.Egress {
			web := slices.ContainsFunc(rule.Ports, func(p networking.NetworkPolicyPort) bool { return p.Port.IntVal == 443 })
			require.Equal(t, web, len(rule.To) > 0 && rule.To[0].IPBlock != nil)
			require.NotEmpty(t, rule.Ports)
			for _, to := range rule.To {
				if to.IPBlock != nil && strings.HasPrefix(to.IPBlock.CIDR, "0") {
					require.Subset(t, to.IPBlock.Except, []string{"10.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"})
				}
			}
		}
	})
}

func TestTheRedisToTryKeepsWhatWasAccepted(t *testing.T) {
	t.Parallel()
	o := build(t, "try")
	require.Len(t, o.sets, 1)
	args := strings.Join(o.sets[0].Spec.Template.Spec.Containers[0].Args, " ")
	require.Contains(t, args, "--appendonly yes")
	require.Contains(t, args, "--maxmemory-policy noeviction")
	require.NotEmpty(t, o.sets[0].Spec.VolumeClaimTemplates)

	for _, file := range []string{"overlays/try/sendlimit.yaml", "../compose/sendlimit.yaml"} {
		settings, err := config.Load(nil, nil, file)
		require.NoError(t, err)
		require.Len(t, settings.Seeds.Accounts, 1, "beyond loopback the worker starts only if there is a key")
	}
}
