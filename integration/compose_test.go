package integration_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// composeFile is what docker-compose.yml says, as far as it is checked here.
type composeFile struct {
	Services map[string]struct {
		Command     []string          `yaml:"command"`
		Environment map[string]string `yaml:"environment"`
		Ports       []string          `yaml:"ports"`
		Volumes     []string          `yaml:"volumes"`
	} `yaml:"services"`
}

// The worker of docker-compose.yml starts with its flags and settings, outside of a container,
// and the commands of the quick start work on it.
func TestCompose(t *testing.T) {
	t.Parallel()
	p := pagesPrograms(t)
	var compose composeFile
	require.NoError(t, yaml.Unmarshal([]byte(readPage(t, "docker-compose.yml")), &compose))
	redis, worker := compose.Services["redis"], compose.Services["worker"]
	require.Subset(t, redis.Command, []string{"redis-server", "--appendonly", "yes", "--maxmemory-policy", "noeviction"})
	for name, service := range compose.Services {
		for _, port := range service.Ports {
			require.True(t, strings.HasPrefix(port, "127.0.0.1:"), "%s: %s is open to the network", name, port)
		}
	}
	require.True(t, strings.HasPrefix(worker.Environment["REDIS_URL"], "redis://redis:"), worker.Environment)

	address := redistest.Shared(t).URL()
	var environ []string
	for name, value := range worker.Environment {
		switch {
		case name == "REDIS_URL", strings.Contains(value, "${"): // the reader may give those
		case strings.HasPrefix(value, ":"): // what is inside of the container listens on any address
			environ = append(environ, name+"=127.0.0.1:0")
		default:
			environ = append(environ, name+"="+value)
		}
	}
	// Files of the project are mounted.
	arguments := strings.Join(worker.Command, "\n")
	for _, volume := range worker.Volumes {
		parts := strings.Split(volume, ":")
		arguments = strings.ReplaceAll(arguments, parts[1], filepath.Join("..", parts[0]))
	}
	started := append(strings.Split(arguments, "\n"), "--listen", "127.0.0.1:0", "--push-url", "log:")
	running := p.worker(t, append(environ, "REDIS_URL="+address), started...)
	running.delivers(t)

	ran := 0
	commands := strings.ReplaceAll(fenced(t, "docs/quick-start.md", "With Docker", "sh"), "\\\n", "")
	for line := range strings.Lines(commands) {
		command, inside := strings.CutPrefix(strings.TrimSpace(line), "docker compose exec worker ")
		request, asked := strings.CutPrefix(command, "curl -sS http://127.0.0.1:8080/")
		switch {
		case asked:
			command = "curl -sSf http://" + running.apiAddress(t) + "/" + request
		case !inside:
			require.Regexp(t, `^docker compose (up --detach --wait|logs (worker|redis))$`, command)
			continue
		}
		shell := exec.CommandContext(t.Context(), "sh", "-euc", command)
		shell.Env = []string{"PATH=" + p.folder + ":/usr/bin:/bin", "REDIS_URL=" + address}
		output, err := shell.CombinedOutput()
		require.NoError(t, err, "%s: %s", command, output)
		require.Regexp(t, "alice|Dinner", string(output), command)
		ran++
	}
	require.Equal(t, 3, ran)
}

func TestDemoEndsByItself(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash in PATH")
	}
	output, err := exec.CommandContext(t.Context(), "bash", "../tools/demo.sh").CombinedOutput()
	said := string(output)
	require.NoError(t, err, said)
	require.Contains(t, said, "2,000 lines in ")
	require.Contains(t, said, "refused: ada can't get a message at ")
	require.Equal(t, 5, strings.Count(said, `"delivered_at":`), said)
	require.Contains(t, said, "\nDone in ")
}
